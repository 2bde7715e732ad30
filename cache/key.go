// Package cache remembers by content: what a directory's files hash to (Tree),
// what was published under which key (Index), finished layers (Blobs). It
// knows nothing of workspaces, recipes or registries.
//
// Users may rely on this: everything here can be deleted, damaged, locked or
// made read-only at any time. That costs time, never a result.
package cache

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/zeebo/blake3"
)

// ErrNotFound is what Get-like functions return when they hold nothing.
var ErrNotFound = errors.New("not found")

// Key is a BLAKE3-256 digest of inputs.
type Key [32]byte

// String is the key in 64 lower-case hex digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// tagSize is how many bytes of a key make a tag.
const tagSize = 16

// Tag is the first 32 hex digits (128 bits) of the key: an image's version tag.
func (k Key) Tag() string { return hex.EncodeToString(k[:tagSize]) }

// IsZero tells whether the key was never set.
func (k Key) IsZero() bool { return k == Key{} }

// ParseKey reads what String wrote.
func ParseKey(text string) (Key, error) {
	var k Key
	if n, err := hex.Decode(k[:], []byte(text)); err != nil || n != len(k) || len(text) != 2*len(k) {
		return Key{}, fmt.Errorf("key %q is not 64 hex digits", text)
	}
	return k, nil
}

// MarshalText implements encoding.TextMarshaler.
func (k Key) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, k[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *Key) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKey(string(text))
	return err
}

// fieldHashers are kept for reuse: one is 10 KB.
var fieldHashers = sync.Pool{New: func() any { return &Hasher{blake: blake3.New()} }}

// Hasher makes a Key of labelled fields. Each label and value is preceded by
// its length, so where one field ends is part of the key; the domain keeps
// keys of different kinds apart and carries their schema version
// ("toa/composition/v1").
type Hasher struct {
	blake *blake3.Hasher
	// buf gathers fields: they are shorter than what hashes well at a time.
	buf []byte
}

// NewHasher starts a key of the given domain.
func NewHasher(domain string) *Hasher {
	h := fieldHashers.Get().(*Hasher)
	h.blake.Reset()
	h.buf = h.buf[:0]
	h.write(domain)
	return h
}

// Field adds one labelled value.
func (h *Hasher) Field(label, value string) {
	h.write(label)
	h.write(value)
}

// Key adds a labelled key.
func (h *Hasher) Key(label string, k Key) {
	h.write(label)
	h.size(len(k))
	h.buf = append(h.buf, k[:]...)
}

// Sum is the key of all fields. The hasher must not be used after it.
func (h *Hasher) Sum() Key {
	var k Key
	_, _ = h.blake.Write(h.buf)
	h.blake.Sum(k[:0])
	fieldHashers.Put(h)
	return k
}

func (h *Hasher) write(s string) {
	h.size(len(s))
	h.buf = append(h.buf, s...)
	if len(h.buf) >= hashAtOnce {
		_, _ = h.blake.Write(h.buf)
		h.buf = h.buf[:0]
	}
}

// hashAtOnce is about what BLAKE3 hashes in parallel lanes.
const hashAtOnce = 8 << 10

func (h *Hasher) size(n int) { h.buf = binary.LittleEndian.AppendUint64(h.buf, uint64(n)) }

// Digest is the BLAKE3-256 digest of bytes, without domain or fields: what a
// file's content hashes to.
func Digest(data []byte) Key {
	h := hashers.Get().(*contentHasher)
	defer hashers.Put(h)
	h.reset(int64(len(data)))
	_, _ = h.Write(data)
	return h.sum()
}
