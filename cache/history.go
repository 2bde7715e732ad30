package cache

import (
	"time"

	"go.etcd.io/bbolt"
)

var durationsBucket = []byte("durations/v1") // registry, repository, target → durations of rebuilds

// keptDurations is how many rebuilds of an image are remembered.
const keptDurations = 10

// Timing is how long it took to build the image of a target.
type Timing struct {
	Registry, Repository, Target string
	Took                         time.Duration
}

func (t Timing) row() []byte { return rowName(t.Registry, t.Repository, t.Target) }

// Past returns the durations that were remembered of each target, in order, the
// latest last. Nothing is known where the file cannot be read.
func (x *Index) Past(of []Timing) [][]time.Duration {
	past := make([][]time.Duration, len(of))
	err := x.db.view(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(durationsBucket)
		if bucket == nil {
			return ErrNotFound
		}
		for i, t := range of {
			past[i] = durationsIn(bucket, t.row())
		}
		return nil
	})
	if err != nil {
		return make([][]time.Duration, len(of))
	}
	return past
}

// Took remembers one more duration of each target, the last ten of each. It is
// durable when Took returns nil.
func (x *Index) Took(timings []Timing) error {
	return x.db.update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(durationsBucket)
		if err != nil {
			return err
		}
		for _, t := range timings {
			row := t.row()
			all := append(durationsIn(bucket, row), t.Took)
			all = all[max(0, len(all)-keptDurations):]
			if err := bucket.Put(row, seal(row, packDurations(all))); err != nil {
				return err
			}
		}
		return nil
	})
}

func durationsIn(bucket *bbolt.Bucket, row []byte) []time.Duration {
	payload, err := unseal(row, bucket.Get(row))
	if err != nil {
		return nil
	}
	return unpackDurations(payload)
}

func packDurations(all []time.Duration) []byte {
	var p packer
	p.uint(uint64(len(all)))
	for _, d := range all {
		p.int(int64(d))
	}
	return p.buf
}

func unpackDurations(payload []byte) []time.Duration {
	u := unpacker{buf: payload}
	var all []time.Duration
	for n := u.uint(); n > 0 && !u.bad; n-- {
		all = append(all, time.Duration(u.int()))
	}
	if u.bad {
		return nil
	}
	return all
}
