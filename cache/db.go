package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"

	"toa.io/toa/internal/durable"
	"toa.io/toa/internal/failpoint"
)

// lockTimeout is how long another process may hold the file before this one
// goes on without it.
const lockTimeout = time.Second

// mapSize is how much address space is mapped at once. A map that has to grow
// in a transaction costs a copy of all that the transaction has read.
const mapSize = 64 << 20

// errUnavailable is what View and Update return when the file cannot be used;
// whoever asked goes on as if it held nothing. The warning was given already.
var errUnavailable = errors.New("cache file is unavailable")

// DB is one bbolt file that is opened for each use and closed again, so that
// its lock is held for milliseconds. Whatever is wrong with the file costs one
// warning that names it and the time that its contents would have saved.
// Calls may overlap.
type DB struct {
	// Volatile says that what a power cut takes need not be there after it:
	// writes are not synced. For contents that prove themselves when read.
	Volatile bool

	path string
	warn func(string)

	mu sync.Mutex // one use at a time: bbolt's lock excludes this process's own second handle too; guards the rest
	// off says that the file is given up for the rest of the process.
	off bool
	// hurried says that a lock was waited for in vain, and told that this was
	// said: it is tried again and not waited for.
	hurried, told bool
}

// OpenDB names a file; nothing is touched until it is used. Warn may be nil
// and is called at most once for each kind of trouble.
func OpenDB(path string, warn func(string)) *DB {
	if warn == nil {
		warn = func(string) {}
	}
	return &DB{path: path, warn: warn}
}

// view runs fn on a consistent snapshot; a missing file is ErrNotFound.
func (d *DB) view(fn func(*bbolt.Tx) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return errUnavailable
	}
	info, err := os.Stat(d.path)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && info.Mode().IsRegular() && info.Size() == 0) {
		return ErrNotFound
	}
	err = d.use(true, func(db *bbolt.DB) error { return db.View(fn) })
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNotFound // deleted since it was looked at
	}
	if isLocked(err) {
		d.tell(err)
	}
	return d.settle(err)
}

// update runs fn in a transaction that is durable when update returns. A
// *lockError is not warned of: what fn would have written can be kept elsewhere.
func (d *DB) update(fn func(*bbolt.Tx) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return errUnavailable
	}
	if err := d.create(); err != nil {
		return d.settle(err)
	}
	write := func(db *bbolt.DB) error { return db.Update(fn) }
	err := d.use(false, write)
	if damaged(err) {
		// Set aside what cannot be read and begin anew: the rows at hand are
		// true whatever the old file held.
		if err = d.settle(err); !d.off {
			if err = d.create(); err == nil {
				err = d.use(false, write)
			}
		}
	}
	return d.settle(err)
}

// use opens the file and hands it to fn. A fault inside bbolt (a truncated file
// is a SIGBUS, a damaged page a panic) comes back as a *damageError.
func (d *DB) use(readOnly bool, fn func(*bbolt.DB) error) (err error) {
	var file *os.File
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			// Only the file is closed: closing the handle would wait for the
			// transaction that has just died.
			_ = file.Close()
			err = &damageError{cause: fmt.Errorf("%v", fault)}
		}
	}()
	if info, err := os.Stat(d.path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("it is not a regular file (%s)", info.Mode().Type())
	}
	if err := private(filepath.Dir(d.path)); err != nil {
		return err
	}
	db, err := d.open(readOnly, &file)
	if err != nil {
		err = d.openError(err)
		d.hurried = d.hurried || isLocked(err)
		return err
	}
	err = fn(db)
	if closed := db.Close(); err == nil {
		err = closed
	}
	return err
}

// open opens the file that path names once it is locked: another process may
// have replaced it while this one waited for the lock.
func (d *DB) open(readOnly bool, file **os.File) (*bbolt.DB, error) {
	timeout := lockTimeout
	if d.hurried {
		timeout = 1 // it is tried once
	}
	for {
		db, err := bbolt.Open(d.path, 0o600, &bbolt.Options{
			Timeout: timeout, ReadOnly: readOnly, InitialMmapSize: mapSize, NoSync: d.Volatile,
			OpenFile: func(path string, flag int, mode os.FileMode) (_ *os.File, err error) {
				*file, err = os.OpenFile(path, flag, mode)
				return *file, err
			},
		})
		if err != nil || isAt(*file, d.path) {
			return db, err
		}
		if err := db.Close(); err != nil {
			return nil, err
		}
	}
}

// create makes an empty file by rename, so that a crash leaves either no file
// or a whole one.
func (d *DB) create() error {
	if _, err := os.Lstat(d.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(d.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, filepath.Base(d.path)+newInfix+"*")
	if err != nil {
		return err
	}
	_ = temp.Close()
	defer os.Remove(temp.Name()) //nolint:errcheck // it is gone after the rename
	db, err := bbolt.Open(temp.Name(), 0o600, &bbolt.Options{Timeout: lockTimeout})
	if err != nil {
		return d.openError(err)
	}
	if err := db.Close(); err != nil {
		return err
	}
	if err := failpoint.At(failpoint.DatabaseLink); err != nil {
		return err
	}
	// Link refuses where Rename would replace what another process has just made.
	if err := os.Link(temp.Name(), d.path); err != nil && !errors.Is(err, fs.ErrExist) {
		if err := os.Rename(temp.Name(), d.path); err != nil {
			return err
		}
	}
	return durable.Sync(dir)
}

// refuse says once why what is kept beside the file cannot be, or is not read.
func (d *DB) refuse(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tell(err)
	return errUnavailable
}

// tell warns once of a file that cannot be locked.
func (d *DB) tell(err error) {
	if !d.told {
		d.told = true
		d.warn(fmt.Sprintf("going on without %s: %v", d.path, err))
	}
}

// settle turns trouble with the file into one warning and errUnavailable.
func (d *DB) settle(err error) error {
	if err == nil || errors.Is(err, ErrNotFound) || isLocked(err) {
		return err
	}
	if damaged(err) {
		aside := d.path + damagedSuffix
		if renamed := os.Rename(d.path, aside); renamed == nil {
			d.warn(fmt.Sprintf("%s is damaged (%v): set aside as %s, starting anew", d.path, err, aside))
			return errUnavailable
		}
	}
	d.off, d.told = true, true
	d.warn(fmt.Sprintf("going on without %s: %v", d.path, err))
	return errUnavailable
}

// private tells whether only this user (or root) can have written what is in a
// directory: what is read here decides what is not built and not asked for.
func private(dir string) error {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return err
	}
	return writtenBy(unix.Geteuid(), int(st.Uid), uint32(st.Mode)) //nolint:unconvert // narrower on darwin
}

func writtenBy(me, owner int, mode uint32) error {
	if owner != me && owner != 0 {
		return fmt.Errorf("its directory belongs to another user (uid %d)", owner)
	}
	if mode&0o022 != 0 {
		return errors.New("others can write in its directory")
	}
	return nil
}

// damageError says that the file's contents cannot be trusted.
type damageError struct{ cause error }

func (e *damageError) Error() string { return e.cause.Error() }
func (e *damageError) Unwrap() error { return e.cause }

func damaged(err error) bool {
	var damage *damageError
	return errors.As(err, &damage)
}

// lockError says that the file cannot be written now, whatever is in it: another
// process has it locked, nothing can be locked where it is, or what waits beside
// it cannot be read.
type lockError struct{ cause error }

func (e *lockError) Error() string { return e.cause.Error() }
func (e *lockError) Unwrap() error { return e.cause }

func isLocked(err error) bool {
	var locked *lockError
	return errors.As(err, &locked)
}

// locksNothing tells whether a file system said that it has no locks at all.
func locksNothing(err error) bool {
	return slices.ContainsFunc(noLocks, func(no error) bool { return errors.Is(err, no) })
}

// noLocks are the answers of file systems that lock nothing: flock(2), and
// what networks' ones are seen to say.
var noLocks = []error{unix.ENOLCK, unix.EOPNOTSUPP, unix.ENOSYS}

// openError tells contents that are no database from a file that cannot be
// opened, and that from one that cannot be locked.
func (d *DB) openError(err error) error {
	var path *fs.PathError
	var sys interface{ Timeout() bool } // every errno has it
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return &lockError{errors.New(holderOf(d.path) + " holds it")}
	case locksNothing(err):
		return &lockError{err}
	case errors.As(err, &path) || errors.As(err, &sys):
		return err
	default:
		return &damageError{cause: err}
	}
}
