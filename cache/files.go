package cache

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"toa.io/toa/internal/failpoint"
)

var (
	treesBucket = []byte("trees/v2")
	filesBucket = []byte("files/v2")
)

// Files knows the files of one workspace by their stamps, so that what has not
// changed is not read again. Calls overlap. Save writes what was learnt.
type Files struct {
	db     *DB
	dir    string // the workspace root
	root   int    // its descriptor
	prefix []byte
	begun  int64 // what changed at or after it is never known by its stamp
	// hands are places for goroutines that help a scan with large files.
	hands chan struct{}

	// known are the listings of the last run. Whether they still hold is found
	// out once, in the background; checked is closed when it is.
	known      map[string]*known
	checked    chan struct{}
	generation generation        // of all that is known
	stood      map[string][]byte // records of what stood in it, by name

	mu       sync.Mutex // guards the rest
	singles  map[string]single
	fresh    map[string][]byte // listings to be saved
	learnt   bool              // singles changed
	notes    map[string][]byte // to be saved
	observed map[string]stamp
	unsteady bool              // observed tells too little
	standing map[string][]byte // to be saved
}

// known is a directory's listing of the last run.
type known struct {
	record []byte
	listing
	holds bool // every directory and file has the stamp it had
}

// OpenFiles reads what is known of the workspace at root. A database that
// cannot be read means that nothing is known.
func OpenFiles(db *DB, root string) (*Files, error) {
	fd, err := ignoringEINTR(func() (int, error) {
		return unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", root, err)
	}
	key := Digest([]byte(root))
	f := &Files{
		db:       db,
		dir:      root,
		root:     fd,
		prefix:   key[:16],
		begun:    time.Now().UnixNano(),
		hands:    make(chan struct{}, runtime.GOMAXPROCS(0)),
		known:    map[string]*known{},
		checked:  make(chan struct{}),
		singles:  map[string]single{},
		fresh:    map[string][]byte{},
		notes:    map[string][]byte{},
		observed: map[string]stamp{},
	}
	if err := db.view(f.load); err != nil {
		clear(f.known)
		clear(f.singles)
		clear(f.stood)
	}
	go f.check()
	return f, nil
}

// Close releases the root. It saves nothing.
func (f *Files) Close() error {
	<-f.checked
	return unix.Close(f.root)
}

func (f *Files) load(tx *bbolt.Tx) error {
	if bucket := tx.Bucket(filesBucket); bucket != nil {
		if payload, err := unseal(f.prefix, bucket.Get(f.prefix)); err == nil {
			f.singles = unpackSingles(bytes.Clone(payload))
		}
	}
	if bucket := tx.Bucket(treesBucket); bucket != nil {
		f.known = make(map[string]*known, len(f.singles)/2) // a manifest and a package.json each
		cursor := bucket.Cursor()
		for key, value := cursor.Seek(f.prefix); bytes.HasPrefix(key, f.prefix); key, value = cursor.Next() {
			f.known[string(key[len(f.prefix):])] = &known{record: bytes.Clone(value)}
		}
	}
	if bucket := tx.Bucket(standingBucket); bucket != nil {
		f.loadStanding(bucket)
	}
	return nil
}

// Save writes what was learnt since OpenFiles; where there is nothing, nothing
// is opened. What cannot be saved is learnt again next time.
func (f *Files) Save() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.learntAnything() && len(f.standing) == 0 || failpoint.At(failpoint.StampsSave) != nil {
		return
	}
	err := f.db.update(func(tx *bbolt.Tx) error {
		if err := f.saveStanding(tx); err != nil || !f.learntAnything() {
			return err
		}
		trees, err := tx.CreateBucketIfNotExists(treesBucket)
		if err != nil {
			return err
		}
		trees.FillPercent = full
		for _, dir := range sortedKeys(f.fresh) {
			if err := trees.Put(f.key(dir), f.fresh[dir]); err != nil {
				return err
			}
		}
		if err := f.saveNotes(tx); err != nil {
			return err
		}
		if !f.learnt {
			return nil
		}
		files, err := tx.CreateBucketIfNotExists(filesBucket)
		if err != nil {
			return err
		}
		return files.Put(f.prefix, seal(f.prefix, packSingles(f.singles)))
	})
	if err == nil {
		clear(f.fresh)
		clear(f.notes)
		clear(f.standing)
		f.learnt = false
		_ = failpoint.At(failpoint.StampsSaved)
	}
}

// full is how full pages of rows get that are written in order and mostly stay.
const full = 0.9

func (f *Files) key(dir string) []byte { return append(f.prefix[:len(f.prefix):len(f.prefix)], dir...) }

// check finds out which listings still hold: a stat of each file and directory,
// side by side. On a no-op it is nearly all that happens, and it happens while
// the context is read.
func (f *Files) check() {
	defer close(f.checked)
	dirs := slices.Collect(maps.Keys(f.known))
	var group sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(dirs)); i = next.Add(1) - 1 {
				f.checkOne(dirs[i], f.known[dirs[i]])
			}
		})
	}
	group.Wait()
}

func (f *Files) checkOne(dir string, k *known) {
	payload, err := unseal(f.key(dir), k.record)
	if err != nil {
		return
	}
	k.payload = payload
	path := append(append(make([]byte, 0, 256), dir...), '/')
	start := len(path)
	k.holds = k.each(func(rel []byte, want stamp) bool {
		path = append(append(path[:start], rel...), 0)
		flags := unix.AT_SYMLINK_NOFOLLOW
		if len(rel) == 0 {
			flags = 0 // a component may itself be a link to a directory
		}
		var st unix.Stat_t
		return statAt(f.root, path, &st, flags) == nil && stampOf(&st) == want
	})
}

// Tree lists and hashes the files of rules.Dir that are shipped. A *FileError
// names what cannot be shipped.
func (f *Files) Tree(rules Rules) (*Tree, error) {
	<-f.checked
	packed := rules.packed()
	k := f.known[rules.Dir]
	if k != nil && k.holds && k.madeBy(packed) {
		return k.tree(), nil
	}
	scanned, err := f.scan(rules, k)
	if err != nil {
		return nil, err
	}
	if err := failpoint.At(failpoint.TreeHashed); err != nil {
		return nil, err
	}
	record := seal(f.key(rules.Dir), scanned.pack(packed))
	scanned.release()
	f.mu.Lock()
	f.fresh[rules.Dir] = record
	f.mu.Unlock()
	return (&listing{payload: record[checksumSize:]}).tree(), nil
}

func ignoringEINTR[T any](call func() (T, error)) (T, error) {
	for {
		result, err := call()
		if !errors.Is(err, unix.EINTR) {
			return result, err
		}
	}
}

// FileError is a file that cannot be hashed or shipped.
type FileError struct {
	// Path is a slash path below the workspace root.
	Path string
	// Line is 0 where the file as a whole is meant.
	Line int
	Msg  string
	Fix  string
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Path, e.Msg)
	}
	return fmt.Sprintf("%s:%d:1: %s", e.Path, e.Line, e.Msg)
}

// Hint says how to mend it.
func (e *FileError) Hint() string { return e.Fix }

// Mistake is true: it is found before anything is touched.
func (*FileError) Mistake() bool { return true }
