package cache

import (
	"fmt"
	"sync"

	"go.etcd.io/bbolt"

	"toa.io/toa/internal/failpoint"
)

// write is one row to be stored; a nil value deletes it.
type write struct{ bucket, name, value []byte }

// writeQueue gathers writes that come while one is under way, so that many
// images that finish together cost one commit. Its zero value is ready.
type writeQueue struct {
	mu      sync.Mutex // guards the rest
	waiting []batch
	busy    bool
}

type batch struct {
	writes []write
	done   chan error
}

// write returns when its rows are durable, or says why they are not.
func (q *writeQueue) write(db *DB, writes ...write) error {
	mine := batch{writes: writes, done: make(chan error, 1)}
	q.mu.Lock()
	q.waiting = append(q.waiting, mine)
	lead := !q.busy
	q.busy = true
	q.mu.Unlock()
	if lead {
		q.drain(db)
	}
	return <-mine.done
}

// drain commits what is waiting, all at once, until nothing is.
func (q *writeQueue) drain(db *DB) {
	for {
		q.mu.Lock()
		batches := q.waiting
		q.waiting = nil
		q.busy = len(batches) > 0
		q.mu.Unlock()
		if len(batches) == 0 {
			return
		}
		err := failpoint.At(failpoint.IndexCommit)
		if err == nil {
			err = commit(db, batches)
		}
		if err == nil {
			err = failpoint.At(failpoint.IndexCommitted)
		}
		for _, b := range batches {
			b.done <- err
		}
	}
}

// commit makes rows durable: in the database with those that wait beside it, or
// beside it, where it cannot be locked.
func commit(db *DB, batches []batch) error {
	beside := db.spool()
	err := db.update(func(tx *bbolt.Tx) error {
		if err := beside.merge(tx); err != nil {
			return err
		}
		return store(tx, batches)
	})
	if !isLocked(err) {
		return err
	}
	var writes []write
	for _, b := range batches {
		writes = append(writes, b.writes...)
	}
	if kept := beside.keep(writes); kept != nil {
		return db.refuse(fmt.Errorf("%w, and %w", err, kept))
	}
	return nil
}

func store(tx *bbolt.Tx, batches []batch) error {
	for _, b := range batches {
		for _, w := range b.writes {
			if err := w.apply(tx); err != nil {
				return err
			}
		}
	}
	return failpoint.At(failpoint.IndexWritten)
}

func (w write) apply(tx *bbolt.Tx) error {
	bucket, err := tx.CreateBucketIfNotExists(w.bucket)
	if err != nil {
		return err
	}
	if w.value == nil {
		return bucket.Delete(w.name)
	}
	return bucket.Put(w.name, w.value)
}
