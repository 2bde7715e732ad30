package cache

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"toa.io/toa/internal/durable"
	"toa.io/toa/internal/failpoint"
)

// Bounds of a spool. Who reads rows reads all of it.
const (
	maxSpooled   = 1000     // files
	maxSpoolFile = 16 << 20 // bytes
)

// spool is a directory beside a database. Rows wait in it that could not be
// written because the database could not be locked: each batch is a file, which
// appears whole. Who reads rows reads them too; the next update merges them.
//
// A file's name begins with a number that is larger than those that were there
// when it was made, so what was written later counts, whatever clocks say. Of
// two that were made at the same time neither is later. Files are removed the
// lowest first and read the highest first: what is left of a spool that is
// being removed never says what it did not say as a whole.
type spool struct{ database, dir string }

func (d *DB) spool() spool { return spool{d.path, d.path + ".spool"} }

// trusted tells whether only this user can have written what is in it.
func (s spool) trusted() error {
	return errors.Join(private(filepath.Dir(s.dir)), private(s.dir))
}

// keep writes rows down; they are durable when it returns nil.
func (s spool) keep(writes []write) error {
	if err := errors.Join(os.MkdirAll(s.dir, 0o700), s.trusted()); err != nil {
		return err
	}
	name, err := s.next()
	if err != nil {
		return err
	}
	record := seal([]byte(name), packWrites(writes))
	if len(record) > maxSpoolFile {
		return fmt.Errorf("%d bytes of rows are too many to wait beside it", len(record))
	}
	file := durable.File{
		Path: filepath.Join(s.dir, name), Temp: s.database + newInfix + "*", // sweepBeside knows it
		Rename: failpoint.SpoolRename, Renamed: failpoint.SpoolRenamed,
	}
	if err := file.WriteBytes(record); err != nil {
		return err
	}
	return durable.Sync(s.dir)
}

// next is the name of a file that comes after all that are there.
func (s spool) next() (string, error) {
	names, err := s.names()
	if err != nil {
		return "", err
	}
	if len(names) >= maxSpooled {
		return "", fmt.Errorf("%d files of rows wait in %s already", len(names), s.dir)
	}
	var last uint64
	for _, name := range names {
		digits, _, _ := strings.Cut(name, "-")
		if n, err := strconv.ParseUint(digits, 16, 64); err == nil {
			last = max(last, n)
		}
	}
	return fmt.Sprintf("%016x-%s", last+1, rand.Text()), nil
}

// names lists the files in order. Usually there is no such directory.
func (s spool) names() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil, nil
	}
	if err == nil {
		err = s.trusted()
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names, nil // ReadDir sorts
}

// read returns what the files say, by rowID, and their names. A nil value is of
// a row that was forgotten. Damaged files say nothing; one that cannot be read
// now is an error, because without it the others may say what is no longer so.
func (s spool) read() (waiting map[string][]byte, names []string, err error) {
	if names, err = s.names(); err != nil {
		return nil, nil, err
	}
	waiting = map[string][]byte{}
	for _, name := range slices.Backward(names) {
		record, err := readRegular(filepath.Join(s.dir, name), maxSpoolFile)
		if err != nil {
			return nil, nil, err
		}
		payload, err := unseal([]byte(name), record)
		if err != nil {
			continue
		}
		for _, w := range slices.Backward(unpackWrites(payload)) {
			id := rowID(w.bucket, w.name)
			if _, later := waiting[id]; !later {
				waiting[id] = w.value
			}
		}
	}
	return waiting, names, nil
}

// merge puts what waits into the database and removes it once that is
// committed, while the database is still locked. Where it cannot be read now
// nothing else may be written either, or it would come to count as later.
func (s spool) merge(tx *bbolt.Tx) error {
	waiting, names, err := s.read()
	if err != nil {
		return &lockError{err}
	}
	for _, id := range sortedKeys(waiting) {
		bucket, name, _ := strings.Cut(id, "\x00")
		if err := (write{[]byte(bucket), []byte(name), waiting[id]}).apply(tx); err != nil {
			return err
		}
	}
	tx.OnCommit(func() {
		if len(names) > 0 {
			_ = failpoint.At(failpoint.SpoolMerged)
		}
		for _, name := range names {
			if os.RemoveAll(filepath.Join(s.dir, name)) != nil {
				return // it is merged again, and those after it
			}
		}
	})
	return nil
}

// halve drops the lowest where there are many, for where nothing can be locked
// and so nobody merges: a row costs one question to the registry.
func (s spool) halve() {
	names, err := s.names()
	if err != nil {
		return
	}
	for _, name := range names[:max(0, len(names)-maxSpooled/2)] {
		if os.RemoveAll(filepath.Join(s.dir, name)) != nil {
			return
		}
	}
}

// readRegular reads a file that is one, up to limit. Of one that is gone, is
// larger or is none it reads nothing.
func readRegular(path string, limit int64) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, limit))
}

func packWrites(writes []write) []byte {
	var p packer
	p.uint(uint64(len(writes)))
	for _, w := range writes {
		p.bytes(w.bucket)
		p.bytes(w.name)
		p.bytes(w.value) // a sealed row is never empty
	}
	return p.buf
}

func unpackWrites(payload []byte) []write {
	u := unpacker{buf: payload}
	var writes []write
	for n := u.uint(); n > 0 && !u.bad; n-- {
		w := write{bucket: u.bytes(), name: u.bytes()}
		if value := u.bytes(); len(value) > 0 {
			w.value = value
		}
		writes = append(writes, w)
	}
	if u.bad {
		return nil
	}
	return writes
}
