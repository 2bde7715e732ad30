package cache

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

// Prune drops what is beyond keep, with all that belongs to it, and what is
// damaged, and gives the space back. The last image of each target is dropped
// for want of space only: it may well be what runs, however long ago it was made.
func (x *Index) Prune(keep Keep, now time.Time) (Pruned, error) {
	x.mergeSpool()
	before := sizeOf(x.db.path)
	var done Pruned
	err := x.db.rewrite(func(tx *bbolt.Tx) picker {
		rows := publishedRows(tx)
		kept := choose(rows, keep, now)
		done.Kept, done.Dropped = len(kept), len(rows)-len(kept)
		if done.Dropped == 0 && !bloated(tx) {
			return nil
		}
		return func(bucket, name, value []byte) bool { return keepsRow(kept, bucket, name, value) }
	})
	sweepBeside(x.db.path, now)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return done, fmt.Errorf("prune %s: %w", x.db.path, err)
	}
	x.mu.Lock()
	clear(x.rows)
	clear(x.loaded)
	x.mu.Unlock()
	done.Freed = before - sizeOf(x.db.path)
	return done, nil
}

// mergeSpool has nothing wait beside the database.
func (x *Index) mergeSpool() {
	beside := x.db.spool()
	if waits, err := beside.names(); err != nil || len(waits) == 0 {
		return
	}
	if err := x.db.update(beside.merge); locksNothing(err) {
		beside.halve()
	}
}

// publishedRow is what decides whether a row stays.
type publishedRow struct {
	name   string
	family string // registry and repository
	at     time.Time
	size   int64
	latest bool
}

// publishedRows lists the rows of images, the newest first. A damaged one has
// no time and no latest.
func publishedRows(tx *bbolt.Tx) []publishedRow {
	latest := map[string]bool{}
	eachIn(tx, latestBucket, func(name, value []byte) {
		if key, err := unseal(name, value); err == nil {
			latest[familyOf(name)+string(key)] = true
		}
	})
	inputs := tx.Bucket(inputsBucket)
	var rows []publishedRow
	eachIn(tx, publishedBucket, func(name, value []byte) {
		row := publishedRow{name: string(name), family: familyOf(name), size: int64(len(name) + len(value))}
		if inputs != nil {
			row.size += int64(len(name) + len(inputs.Get(name)))
		}
		if payload, err := unseal(name, value); err == nil {
			if entry, err := unpackEntry(payload); err == nil {
				row.at, row.latest = entry.VerifiedAt, latest[string(name)]
			}
		}
		rows = append(rows, row)
	})
	slices.SortStableFunc(rows, func(a, b publishedRow) int { return b.at.Compare(a.at) })
	return rows
}

// choose returns the names of the rows that stay.
func choose(rows []publishedRow, keep Keep, now time.Time) map[string]bool {
	t := tally{keep: keep, now: now, counts: map[string]int{}}
	kept := make(map[string]bool, len(rows))
	for _, row := range rows {
		if row.latest && t.fits(row.size) {
			kept[row.name] = true
			t.counts[row.family]++
		}
	}
	for _, row := range rows {
		if !row.latest && !row.at.IsZero() && t.takes(row.family, row.at, row.size) {
			kept[row.name] = true
		}
	}
	return kept
}

// keepsRow tells of any row: what belongs to no image stays as long as it is
// whole, and what another version keeps as it is.
func keepsRow(kept map[string]bool, bucket, name, value []byte) bool {
	payload, err := unseal(name, value)
	switch {
	case err != nil:
		return !spoiled(bucket, name, value)
	case bytes.Equal(bucket, publishedBucket), bytes.Equal(bucket, inputsBucket):
		return kept[string(name)]
	case bytes.Equal(bucket, latestBucket):
		return kept[familyOf(name)+string(payload)]
	default:
		return true
	}
}

// familyOf is the part of a row's name up to the key or the target.
func familyOf(name []byte) string {
	registry, rest, _ := strings.Cut(string(name), "\x00")
	repository, _, _ := strings.Cut(rest, "\x00")
	return registry + "\x00" + repository + "\x00"
}

func eachIn(tx *bbolt.Tx, name []byte, do func(name, value []byte)) {
	if bucket := tx.Bucket(name); bucket != nil {
		_ = bucket.ForEach(func(k, v []byte) error { do(k, v); return nil })
	}
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Compact gives back what is free in the file, or all of it where it is larger
// than limit: what it held is found out again.
func (d *DB) Compact(limit int64, now time.Time) (Pruned, error) {
	before := sizeOf(d.path)
	all := func(_, _, _ []byte) bool { return true }
	none := func(_, _, _ []byte) bool { return false }
	err := d.rewrite(func(tx *bbolt.Tx) picker {
		switch {
		case tx.Size() > limit && !bloated(tx):
			return none
		case bloated(tx):
			return all
		default:
			return nil
		}
	})
	sweepBeside(d.path, now)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Pruned{}, fmt.Errorf("compact %s: %w", d.path, err)
	}
	return Pruned{Freed: before - sizeOf(d.path)}, nil
}
