package cache

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
)

// rows are what the database holds, and over it what waits beside it.
type rows struct {
	tx      *bbolt.Tx // nil where the database cannot be read
	waiting map[string][]byte
}

// read runs fn on the rows that there are; an error says that there are others,
// which cannot be read. Fn may run again from the start, where the database
// breaks under it.
func (x *Index) read(fn func(rows)) error {
	beside := x.db.spool()
	run := func(tx *bbolt.Tx) error {
		waiting, _, err := beside.read()
		if err == nil {
			fn(rows{tx, waiting})
		}
		return err
	}
	var besides error
	// The lock keeps what waits from being merged meanwhile: a row is in one of
	// the two.
	err := x.db.view(func(tx *bbolt.Tx) error {
		besides = run(tx)
		return nil
	})
	if err != nil {
		besides = run(nil)
	}
	if besides != nil {
		return x.db.refuse(besides)
	}
	if errors.Is(err, ErrNotFound) {
		err = nil // there is no database
	}
	return err
}

// get returns the sealed row of a name, or nil.
func (r rows) get(bucket, name []byte) []byte {
	if value, ok := r.waiting[rowID(bucket, name)]; ok {
		return value
	}
	if r.tx == nil {
		return nil
	}
	if b := r.tx.Bucket(bucket); b != nil {
		return b.Get(name)
	}
	return nil
}

// below visits the sealed rows whose names have a prefix, each once.
func (r rows) below(bucket []byte, prefix string, do func(name, value []byte)) {
	r.stored(bucket, prefix, func(name, value []byte) {
		if _, newer := r.waiting[rowID(bucket, name)]; !newer {
			do(name, value)
		}
	})
	within := rowID(bucket, []byte(prefix))
	for _, id := range slices.Sorted(maps.Keys(r.waiting)) {
		if value := r.waiting[id]; value != nil && strings.HasPrefix(id, within) {
			do([]byte(id[len(within)-len(prefix):]), value)
		}
	}
}

func (r rows) stored(bucket []byte, prefix string, do func(name, value []byte)) {
	if r.tx == nil || r.tx.Bucket(bucket) == nil {
		return
	}
	cursor := r.tx.Bucket(bucket).Cursor()
	for name, value := cursor.Seek([]byte(prefix)); name != nil && bytes.HasPrefix(name, []byte(prefix)); name, value = cursor.Next() {
		do(name, value)
	}
}
