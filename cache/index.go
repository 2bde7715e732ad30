package cache

import (
	"bytes"
	"encoding/hex"
	"strings"
	"sync"
	"time"
)

var (
	publishedBucket = []byte("published/v1") // registry, repository, key → entry
	latestBucket    = []byte("latest/v1")    // registry, repository, target → key
	inputsBucket    = []byte("inputs/v1")    // registry, repository, key → inputs
)

// Index remembers what was published: (registry, repository, key) → Entry.
// Calls overlap. Rows of one repository prefix are read at once, on the first
// question about it, so that a plan costs one opening of the file.
type Index struct {
	db *DB

	mu     sync.Mutex // guards rows, loaded and lost
	rows   map[string][]byte
	loaded map[string]bool
	lost   map[string][]string // by repository; nil until it is read

	queue writeQueue
}

// NewIndex keeps rows in db.
func NewIndex(db *DB) *Index {
	return &Index{db: db, rows: map[string][]byte{}, loaded: map[string]bool{}}
}

// Get returns the row of a key, or ErrNotFound: also where the file cannot be
// read or the row is damaged.
func (x *Index) Get(registry, repository string, key Key) (Entry, error) {
	name := rowName(registry, repository, string(key[:]))
	payload, err := x.row(publishedBucket, name)
	if err != nil {
		return Entry{}, err
	}
	return unpackEntry(payload)
}

// Fresh is Get past what is remembered: it sees what other processes have put
// since.
func (x *Index) Fresh(registry, repository string, key Key) (Entry, error) {
	payload, err := x.fresh(publishedBucket, rowName(registry, repository, string(key[:])))
	if err != nil {
		return Entry{}, err
	}
	return unpackEntry(payload)
}

// fresh is the payload of one row, or ErrNotFound: one row tells nothing of the file.
func (x *Index) fresh(bucket, name []byte) (payload []byte, err error) {
	var sealed []byte
	_ = x.read(func(r rows) { sealed = bytes.Clone(r.get(bucket, name)) })
	if payload, err = unseal(name, sealed); err != nil {
		return nil, ErrNotFound
	}
	return payload, nil
}

// Latest returns the key that was last put for a target in a repository, or
// ErrNotFound.
func (x *Index) Latest(registry, repository, target string) (Key, error) {
	payload, err := x.row(latestBucket, rowName(registry, repository, target))
	if err != nil || len(payload) != len(Key{}) {
		return Key{}, ErrNotFound
	}
	return Key(payload), nil
}

// Inputs returns what was put with a key, or ErrNotFound.
func (x *Index) Inputs(registry, repository string, key Key) ([]Input, error) {
	inputs := x.InputsOf(registry, []Published{{repository, key}})[0]
	if inputs == nil {
		return nil, ErrNotFound
	}
	return inputs, nil
}

// Published is what an image was published as: a repository and a key.
type Published struct {
	Repository string
	Key        Key
}

// InputsOf returns what was put with each key, nil where that is not known. It
// opens the file once.
func (x *Index) InputsOf(registry string, of []Published) [][]Input {
	found := make([][]Input, len(of))
	_ = x.read(func(r rows) {
		for i, row := range of {
			name := rowName(registry, row.Repository, string(row.Key[:]))
			payload, err := unseal(name, r.get(inputsBucket, name))
			if err == nil {
				found[i], err = unpackInputs(payload)
			}
			if err != nil {
				found[i] = nil
			}
		}
	})
	return found
}

// InputsByTag returns the inputs of the key whose Tag this is, or ErrNotFound.
func (x *Index) InputsByTag(registry, repository, tag string) ([]Input, error) {
	start, err := hex.DecodeString(tag)
	if err != nil || len(start) != tagSize {
		return nil, ErrNotFound
	}
	var key []byte
	_ = x.read(func(r rows) {
		r.below(inputsBucket, string(rowName(registry, repository, string(start))), func(name, _ []byte) {
			key = bytes.Clone(name[len(rowName(registry, repository, "")):])
		})
	})
	if len(key) != len(Key{}) {
		return nil, ErrNotFound
	}
	return x.Inputs(registry, repository, Key(key))
}

// Put remembers that an image is published under a key. Target is the ID of
// the image and inputs is what its key was made of, for telling later why it
// changed. It is durable when Put returns nil; several Puts at a time share a
// transaction. An error means that the row is not kept, which costs time only.
func (x *Index) Put(registry, repository string, key Key, e Entry, target string, inputs []Input) error {
	name, latest := rowName(registry, repository, string(key[:])), rowName(registry, repository, target)
	entry := seal(name, packEntry(e))
	x.mu.Lock()
	x.rows[rowID(publishedBucket, name)] = entry
	x.rows[rowID(latestBucket, latest)] = seal(latest, key[:])
	x.mu.Unlock()
	return x.queue.write(x.db,
		write{publishedBucket, name, entry},
		write{latestBucket, latest, seal(latest, key[:])},
		write{inputsBucket, name, seal(name, packInputs(inputs))},
	)
}

// Forget drops the row of a key, because the registry says that the image is gone.
func (x *Index) Forget(registry, repository string, key Key) {
	name := rowName(registry, repository, string(key[:]))
	x.mu.Lock()
	delete(x.rows, rowID(publishedBucket, name))
	x.mu.Unlock()
	_ = x.queue.write(x.db, write{publishedBucket, name, nil}) // a row that stays is asked about again
}

func (x *Index) row(bucket, name []byte) ([]byte, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if prefix := family(name); !x.loaded[prefix] {
		x.loaded[prefix] = true
		x.load(prefix)
	}
	payload, err := unseal(name, x.rows[rowID(bucket, name)])
	if err != nil {
		return nil, ErrNotFound
	}
	return payload, nil
}

// load reads the rows of all repositories with a prefix. Where they cannot be
// read nothing is known of them.
func (x *Index) load(prefix string) {
	var found map[string][]byte
	_ = x.read(func(r rows) {
		found = map[string][]byte{}
		for _, bucket := range [][]byte{publishedBucket, latestBucket} {
			r.below(bucket, prefix, func(name, value []byte) { found[rowID(bucket, name)] = bytes.Clone(value) })
		}
	})
	for id, value := range found {
		if _, newer := x.rows[id]; !newer {
			x.rows[id] = value
		}
	}
}

func rowID(bucket, name []byte) string { return string(bucket) + "\x00" + string(name) }

func rowName(registry, repository, last string) []byte {
	return []byte(registry + "\x00" + repository + "\x00" + last)
}

// family is the part of a row's name that the images of one context share: up
// to the last slash of the repository.
func family(name []byte) string {
	registry, rest, _ := strings.Cut(string(name), "\x00")
	repository, _, _ := strings.Cut(rest, "\x00")
	return registry + "\x00" + repository[:strings.LastIndexByte(repository, '/')+1]
}

func packEntry(e Entry) []byte {
	var p packer
	p.string(e.Digest)
	p.int(e.VerifiedAt.Unix())
	p.uint(uint64(len(e.Platforms)))
	for _, platform := range e.Platforms {
		p.string(platform)
	}
	return p.buf
}

func unpackEntry(payload []byte) (Entry, error) {
	u := unpacker{buf: payload}
	e := Entry{Digest: u.string(), VerifiedAt: time.Unix(u.int(), 0)}
	for n := u.uint(); n > 0 && !u.bad; n-- {
		e.Platforms = append(e.Platforms, u.string())
	}
	if u.bad || e.Digest == "" {
		return Entry{}, ErrNotFound
	}
	return e, nil
}
