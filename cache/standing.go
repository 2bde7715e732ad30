package cache

import (
	"bytes"
	"crypto/rand"
	"errors"
	pathpkg "path"
	"strings"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// standingBucket holds, for each workspace, the generation of what is known of
// its files and the notes that are true of that generation.
var standingBucket = []byte("standing/v1")

// generation names one state of what is known of a workspace's files. Whatever
// is learnt of a file begins another.
type generation [16]byte

// Standing returns what Stand was given for a name, if since then nothing has
// been learnt of any file of the workspace and everything that the run of that
// time looked at is as it was; else nil.
func (f *Files) Standing(name string) []byte {
	<-f.checked
	payload, err := unseal(f.key(name), f.stood[name])
	if err != nil {
		return nil
	}
	u := unpacker{buf: payload}
	if !bytes.Equal(u.take(uint64(len(f.generation))), f.generation[:]) || !f.listingsStand(&u) || !f.observationsStand(&u) {
		return nil
	}
	note := u.bytes()
	if u.bad {
		return nil
	}
	return note
}

// Stand has Save remember a note that is true for as long as nothing of what
// this run has looked at changes. It is not kept where the run has learnt
// anything: then the next one may say it.
func (f *Files) Stand(name string, note []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unsteady || f.learntAnything() {
		return
	}
	var p packer
	p.buf = append(p.buf, f.generation[:]...)
	f.packListings(&p)
	f.packObservations(&p)
	p.bytes(note)
	f.standing = map[string][]byte{name: seal(f.key(name), p.buf)}
}

// packListings counts the listings and names those that did not hold when the
// run began. Nobody has asked for these, or they would have been made anew.
func (f *Files) packListings(p *packer) {
	p.uint(uint64(len(f.known)))
	var fallen []string
	for _, dir := range sortedKeys(f.known) {
		if !f.known[dir].holds {
			fallen = append(fallen, dir)
		}
	}
	p.uint(uint64(len(fallen)))
	for _, dir := range fallen {
		p.string(dir)
	}
}

// listingsStand tells whether all listings are there and hold, but for those that
// did not then. One may have been dropped since, because it was damaged.
func (f *Files) listingsStand(u *unpacker) bool {
	if u.uint() != uint64(len(f.known)) {
		return false
	}
	fallen := map[string]bool{}
	for n := u.uint(); n > 0 && !u.bad; n-- {
		fallen[u.string()] = true
	}
	for dir, k := range f.known {
		if !k.holds && !fallen[dir] {
			return false
		}
	}
	return !u.bad
}

func (f *Files) packObservations(p *packer) {
	p.uint(uint64(len(f.observed)))
	for _, path := range sortedKeys(f.observed) {
		p.string(path)
		p.stamp(f.observed[path], stamp{})
	}
}

func (f *Files) observationsStand(u *unpacker) bool {
	for n := u.uint(); n > 0 && !u.bad; n-- {
		path := u.string()
		then := u.stamp(stamp{})
		if now, err := f.look(path); u.bad || err != nil || now != then {
			return false
		}
	}
	return !u.bad
}

// look asks the file system for a path, through links. The stamp of what is not
// there is the zero one.
func (f *Files) look(path string) (stamp, error) {
	var st unix.Stat_t
	switch err := statAt(f.root, append([]byte(path), 0), &st, 0); {
	case err == nil:
		return stampOf(&st), nil
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return stamp{}, nil
	default:
		return stamp{}, err
	}
}

// observe is look, and notes that the run is about to read what is there. What
// has changed just now, or cannot be told, makes that the run stands for nothing.
func (f *Files) observe(path string) (stamp, error) {
	at, err := f.look(path)
	if err == nil && f.covers(path, at) {
		return at, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.observed[path]; !known {
		f.observed[path] = at
	}
	f.unsteady = f.unsteady || err != nil || !at.settled(f.begun)
	return at, err
}

// covers tells whether a path cannot change without its directory's listing.
func (f *Files) covers(path string, at stamp) bool {
	dir, name := pathpkg.Split(path)
	k := f.known[strings.TrimSuffix(dir, "/")]
	if k == nil {
		return false
	}
	if <-f.checked; !k.holds {
		return false
	}
	_, listed := k.digest(name)
	return listed || at == stamp{}
}

// loadStanding reads the generation, the zero one where there is none, and what
// stood in it: both in the transaction that reads what is known.
func (f *Files) loadStanding(bucket *bbolt.Bucket) {
	if payload, err := unseal(f.prefix, bucket.Get(f.prefix)); err == nil {
		copy(f.generation[:], payload)
	}
	f.stood = map[string][]byte{}
	cursor := bucket.Cursor()
	for key, record := cursor.Seek(f.prefix); bytes.HasPrefix(key, f.prefix); key, record = cursor.Next() {
		f.stood[string(key[len(f.prefix):])] = bytes.Clone(record)
	}
}

// saveStanding keeps the notes of a run that has learnt nothing; one that has
// begins a new generation.
func (f *Files) saveStanding(tx *bbolt.Tx) error {
	bucket, err := tx.CreateBucketIfNotExists(standingBucket)
	if err != nil {
		return err
	}
	if f.learntAnything() {
		return f.turn(bucket)
	}
	for _, name := range sortedKeys(f.standing) {
		if err := bucket.Put(f.key(name), f.standing[name]); err != nil {
			return err
		}
	}
	return nil
}

// turn begins a new generation: what was true of the old one is dropped.
func (f *Files) turn(bucket *bbolt.Bucket) error {
	cursor := bucket.Cursor()
	for key, _ := cursor.Seek(f.prefix); bytes.HasPrefix(key, f.prefix); key, _ = cursor.Seek(f.prefix) {
		if err := bucket.Delete(key); err != nil {
			return err
		}
	}
	var next generation
	_, _ = rand.Read(next[:]) // it never fails
	return bucket.Put(f.prefix, seal(f.prefix, next[:]))
}

// learntAnything tells whether Save has something to keep that others could
// have a different idea of. The caller holds mu.
func (f *Files) learntAnything() bool { return len(f.fresh)+len(f.notes) > 0 || f.learnt }
