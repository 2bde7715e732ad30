package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"toa.io/toa/internal/durable"
	"toa.io/toa/internal/failpoint"
)

// Names beside a database: one that is being written, one that was set aside.
const (
	newInfix      = ".new-"
	damagedSuffix = ".damaged"
)

// picker tells of a row whether it is kept.
type picker func(bucket, name, value []byte) bool

// rewrite replaces the file by one that holds the rows that are picked and no
// free pages. Choose looks at what there is; where it returns nil the file
// stays. It is locked all the while: other processes see the old file or the
// new one, whole, and lose nothing. Where it cannot be written the old one stands.
func (d *DB) rewrite(choose func(*bbolt.Tx) picker) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return errUnavailable
	}
	if _, err := os.Stat(d.path); errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	err := d.use(false, func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			if pick := choose(tx); pick != nil {
				return d.replace(tx, pick)
			}
			return nil
		})
	})
	if damaged(err) {
		return d.settle(err)
	}
	return err
}

func (d *DB) replace(from *bbolt.Tx, pick picker) error {
	temp, err := os.CreateTemp(filepath.Dir(d.path), filepath.Base(d.path)+newInfix+"*")
	if err != nil {
		return err
	}
	_ = temp.Close()
	defer os.Remove(temp.Name()) //nolint:errcheck // it is gone after the rename
	to, err := bbolt.Open(temp.Name(), 0o600, &bbolt.Options{Timeout: lockTimeout, NoSync: true})
	if err != nil {
		return err
	}
	err = to.Update(func(tx *bbolt.Tx) error { return copyRows(from, tx, pick) })
	if err == nil {
		err = to.Sync()
	}
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err := failpoint.At(failpoint.DatabaseRename); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), d.path); err != nil {
		return err
	}
	if err := failpoint.At(failpoint.DatabaseRenamed); err != nil {
		return err
	}
	return durable.Sync(filepath.Dir(d.path))
}

func copyRows(from, to *bbolt.Tx, pick picker) error {
	return eachRow(from, func(bucket, name, value []byte) error {
		if !pick(bucket, name, value) {
			return nil
		}
		into, err := to.CreateBucketIfNotExists(bucket)
		if err != nil {
			return err
		}
		into.FillPercent = 0.9 // rows come in order
		return into.Put(name, value)
	})
}

func eachRow(tx *bbolt.Tx, do func(bucket, name, value []byte) error) error {
	return tx.ForEach(func(bucket []byte, b *bbolt.Bucket) error {
		return b.ForEach(func(name, value []byte) error { return do(bucket, name, value) })
	})
}

// bloated tells whether most of the file is free pages.
func bloated(tx *bbolt.Tx) bool {
	stats, size := tx.DB().Stats(), tx.Size()
	const small = 1 << 20
	return size > small && int64(stats.FreeAlloc) > size/2
}
