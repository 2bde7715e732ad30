package cache

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Row is what machines tell each other of one published image.
type Row struct {
	// Repository is below the workspace's own: "composition-edge".
	Repository string `json:"repository"`
	// Target is the ID of the image, or empty where that is not known. The last
	// image of a target is the one that was verified last.
	Target    string   `json:"target,omitempty"`
	Key       string   `json:"key"` // of Key.String
	Digest    string   `json:"digest"`
	Platforms []string `json:"platforms,omitempty"`
	// Verified is when the registry last said that it holds the image, in
	// seconds since 1970.
	Verified int64 `json:"verified"`
}

// shard is a set of rows as it is stored.
type shard struct {
	Version int   `json:"version"`
	Rows    []Row `json:"rows"`
}

const shardVersion = 1

// Bounds of shards: what one machine sends must not cost another its memory.
const (
	maxRows  = 20_000
	maxShard = 16 << 20 // unzipped
	maxText  = 1024
)

// Union is what all sets say, in one order. Of one image the row that was verified
// last stands: in which order sets are joined, and how often, does not matter.
// Beyond what a shard can hold the oldest are dropped.
func Union(sets ...[]Row) []Row {
	all := map[string]Row{}
	for _, set := range sets {
		for _, row := range set {
			if other, have := all[row.id()]; have {
				row = row.join(other)
			}
			all[row.id()] = row
		}
	}
	return newest(slices.Collect(maps.Values(all)))
}

// lasts are the rows of the images that are the last of their targets.
func lasts(rows []Row) map[string]Row {
	last := map[string]Row{}
	for _, row := range rows {
		if other, have := last[row.target()]; row.Target != "" && (!have || row.after(other)) {
			last[row.target()] = row
		}
	}
	return last
}

func (r Row) id() string     { return r.Repository + "\x00" + r.Key }
func (r Row) target() string { return r.Repository + "\x00" + r.Target }

// join is what two rows of one image say together.
func (r Row) join(other Row) Row {
	target := max(r.Target, other.Target)
	if other.after(r) {
		r = other
	}
	r.Target = target
	return r
}

// after orders rows by when they were verified; of two at one time one always
// comes after the other.
func (r Row) after(other Row) bool {
	return cmp.Or(cmp.Compare(r.Verified, other.Verified), strings.Compare(r.id(), other.id()),
		strings.Compare(r.Digest, other.Digest), slices.Compare(r.Platforms, other.Platforms)) > 0
}

// newest drops the oldest rows where there are too many, and sorts.
func newest(rows []Row) []Row {
	if len(rows) > maxRows {
		slices.SortFunc(rows, func(a, b Row) int {
			if a.after(b) {
				return -1
			}
			return 1
		})
		rows = rows[:maxRows]
	}
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.id(), b.id()) })
	return rows
}

// Without are the rows that say something which is not said yet. That an image
// was verified again says nothing.
func Without(rows, said []Row) []Row {
	known := map[string]Row{}
	for _, row := range Union(said) {
		known[row.id()] = row
	}
	var left []Row
	for _, row := range Union(said, rows) {
		other, have := known[row.id()]
		if !have || other.Digest != row.Digest || row.Target != "" && other.Target != row.Target {
			left = append(left, row)
		}
	}
	return left
}

// EncodeShard writes rows; equal rows are equal bytes.
func EncodeShard(rows []Row) ([]byte, error) {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if err := json.NewEncoder(zip).Encode(shard{Version: shardVersion, Rows: rows}); err != nil {
		return nil, fmt.Errorf("encode shard: %w", err)
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("encode shard: %w", err)
	}
	return b.Bytes(), nil
}

// DecodeShard reads what EncodeShard wrote, and refuses all else.
func DecodeShard(data []byte) ([]Row, error) {
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read shard: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(zip, maxShard+1))
	if err != nil {
		return nil, fmt.Errorf("read shard: %w", err)
	}
	if len(text) > maxShard {
		return nil, fmt.Errorf("read shard: it is larger than %d MiB", maxShard>>20)
	}
	var s shard
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("read shard: %w", err)
	}
	if s.Version != shardVersion {
		return nil, fmt.Errorf("read shard: version %d is not %d", s.Version, shardVersion)
	}
	if len(s.Rows) > maxRows {
		return nil, fmt.Errorf("read shard: it has more than %d rows", maxRows)
	}
	for _, row := range s.Rows {
		if err := row.check(); err != nil {
			return nil, fmt.Errorf("read shard: %w", err)
		}
	}
	return s.Rows, nil
}

func (r Row) check() error {
	_, digest := sha256Hex(r.Digest)
	_, key := sha256Hex("sha256:" + r.Key)
	short := len(r.Repository) <= maxText && len(r.Target) <= maxText && len(strings.Join(r.Platforms, "")) <= maxText
	if !digest || !key || !short || r.Repository == "" || strings.ContainsAny(r.Repository+r.Target+strings.Join(r.Platforms, ""), "\x00") {
		return errors.New("a row is none")
	}
	return nil
}

// Rows are those of the repositories below a prefix ("host/path/shop/"), as
// other machines are told of them.
func (x *Index) Rows(registry, prefix string) []Row {
	var told []Row
	_ = x.read(func(r rows) { told = r.told(registry + "\x00" + prefix) })
	return Union(told)
}

// told are the rows of the repositories within a prefix as other machines are
// told of them.
func (r rows) told(within string) []Row {
	targets := map[string]string{} // of keys
	r.whole(latestBucket, within, func(name, payload []byte) {
		targets[familyOf(name)+string(payload)] = string(name[len(familyOf(name)):])
	})
	var told []Row
	r.whole(publishedBucket, within, func(name, payload []byte) {
		entry, err := unpackEntry(payload)
		key := name[len(familyOf(name)):]
		if err != nil || len(key) != len(Key{}) {
			return
		}
		row := Row{
			Repository: strings.TrimSuffix(familyOf(name)[len(within):], "\x00"),
			Target:     targets[string(name)],
			Key:        Key(key).String(),
			Digest:     entry.Digest,
			Platforms:  entry.Platforms,
			Verified:   entry.VerifiedAt.Unix(),
		}
		if row.check() == nil {
			told = append(told, row)
		}
	})
	return told
}

// whole visits the rows whose names have a prefix and that are not damaged.
func (r rows) whole(bucket []byte, prefix string, do func(name, payload []byte)) {
	r.below(bucket, prefix, func(name, value []byte) {
		if payload, err := unseal(name, value); err == nil {
			do(name, payload)
		}
	})
}

// Merge adds what other machines have told: rows that are not known, or were
// verified later than what is. Their times count as now where they are not past.
//
// Nothing is believed of a repository that is noted to have lost something: which
// of its images need that no row says, and a later time says nothing either, for
// machines that do not know of the loss go by the same registry's word. So these
// images are asked for one by one, and what is answered is held against the note,
// until all of it is mended.
func (x *Index) Merge(registry, prefix string, rows []Row, now time.Time) error {
	said := x.Rows(registry, prefix)
	rows = slices.DeleteFunc(slices.Clone(rows), func(row Row) bool {
		return len(x.Lost(registry, prefix+row.Repository)) > 0
	})
	last := lasts(Union(said, rows))
	var writes []write
	for _, row := range Without(rows, said) {
		writes = append(writes, row.writes(registry, prefix, now, last[row.target()].Key == row.Key)...)
	}
	if len(writes) == 0 {
		return nil
	}
	x.mu.Lock()
	for _, w := range writes {
		x.rows[rowID(w.bucket, w.name)] = w.value
	}
	x.mu.Unlock()
	return x.queue.write(x.db, writes...)
}

func (r Row) writes(registry, prefix string, now time.Time, last bool) []write {
	key, err := ParseKey(r.Key)
	if err != nil {
		return nil
	}
	entry := Entry{Digest: r.Digest, Platforms: r.Platforms, VerifiedAt: time.Unix(min(r.Verified, now.Unix()), 0)}
	name := rowName(registry, prefix+r.Repository, string(key[:]))
	writes := []write{{publishedBucket, name, seal(name, packEntry(entry))}}
	if last {
		latest := rowName(registry, prefix+r.Repository, r.Target)
		writes = append(writes, write{latestBucket, latest, seal(latest, key[:])})
	}
	return writes
}
