package cache

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

var (
	treesBucket = []byte("trees/v1")
	filesBucket = []byte("files/v1")
)

// Files knows the files of one workspace by their stamps, so that what has not
// changed is not read again. Calls overlap. Save writes what was learnt.
type Files struct {
	db     *DB
	root   int // descriptor of the workspace root
	prefix []byte
	begun  int64 // what changed at or after it is never known by its stamp

	mu      sync.Mutex // guards the rest
	trees   map[string][]byte
	singles map[string]single
	fresh   map[string][]byte // trees to be saved
	learnt  bool              // singles changed
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
		db:      db,
		root:    fd,
		prefix:  key[:16],
		begun:   time.Now().UnixNano(),
		trees:   map[string][]byte{},
		singles: map[string]single{},
		fresh:   map[string][]byte{},
	}
	if err := db.view(f.load); err != nil {
		clear(f.trees)
		clear(f.singles)
	}
	return f, nil
}

// Close releases the root. It saves nothing.
func (f *Files) Close() error { return unix.Close(f.root) }

func (f *Files) load(tx *bbolt.Tx) error {
	if bucket := tx.Bucket(treesBucket); bucket != nil {
		cursor := bucket.Cursor()
		for key, value := cursor.Seek(f.prefix); bytes.HasPrefix(key, f.prefix); key, value = cursor.Next() {
			f.trees[string(key[len(f.prefix):])] = bytes.Clone(value)
		}
	}
	if bucket := tx.Bucket(filesBucket); bucket != nil {
		if payload, err := unseal(f.prefix, bucket.Get(f.prefix)); err == nil {
			f.singles = unpackSingles(bytes.Clone(payload))
		}
	}
	return nil
}

// Save writes what was learnt since OpenFiles; where there is nothing, nothing
// is opened. What cannot be saved is learnt again next time.
func (f *Files) Save() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.fresh) == 0 && !f.learnt {
		return
	}
	err := f.db.update(func(tx *bbolt.Tx) error {
		trees, err := tx.CreateBucketIfNotExists(treesBucket)
		if err != nil {
			return err
		}
		for _, dir := range sortedKeys(f.fresh) {
			if err := trees.Put(f.key(dir), f.fresh[dir]); err != nil {
				return err
			}
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
		f.learnt = false
	}
}

func (f *Files) key(dir string) []byte { return append(f.prefix[:len(f.prefix):len(f.prefix)], dir...) }

// Tree lists and hashes the files of rules.Dir that are shipped. A *FileError
// names what cannot be shipped.
func (f *Files) Tree(rules Rules) (*Tree, error) {
	packed := rules.packed()
	f.mu.Lock()
	sealed := f.trees[rules.Dir]
	f.mu.Unlock()

	var known *listing
	if payload, err := unseal(f.key(rules.Dir), sealed); err == nil {
		known = &listing{payload: payload}
		if f.unchanged(rules.Dir, known, packed) {
			return known.tree(), nil
		}
	}
	scanned, err := f.scan(rules, known)
	if err != nil {
		return nil, err
	}
	payload := scanned.pack(packed)
	record := seal(f.key(rules.Dir), payload)
	f.mu.Lock()
	f.trees[rules.Dir], f.fresh[rules.Dir] = record, record
	f.mu.Unlock()
	return (&listing{payload: payload}).tree(), nil
}

// unchanged tells whether every directory and file of a listing has the stamp
// it had. It allocates next to nothing: on a no-op it is all that happens.
func (f *Files) unchanged(dir string, known *listing, rules []byte) bool {
	path := append(make([]byte, 0, 256), dir...)
	path = append(path, '/')
	start := len(path)
	return known.each(rules, func(rel []byte, want stamp) bool {
		path = append(path[:start], rel...)
		flags := unix.AT_SYMLINK_NOFOLLOW
		if len(rel) == 0 {
			flags = 0 // a component may itself be a link to a directory
		}
		path = append(path, 0)
		var st unix.Stat_t
		return statAt(f.root, path, &st, flags) == nil && stampOf(&st) == want
	})
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
	Msg  string
	Fix  string
}

func (e *FileError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Msg) }

// Hint says how to mend it.
func (e *FileError) Hint() string { return e.Fix }
