package cache

import (
	"sync"

	"github.com/zeebo/blake3"

	"toa.io/toa/internal/blake3wide"
)

// wideFrom is the size in bytes from which the wide hasher is the faster one.
const wideFrom = 32 << 10

// hashers are kept for reuse: one is 40 KB.
var hashers = sync.Pool{New: func() any { return &contentHasher{narrow: blake3.New()} }}

// contentHasher makes BLAKE3-256 digests of plain bytes, with the
// implementation that is fast for so many of them.
type contentHasher struct {
	narrow *blake3.Hasher
	wide   blake3wide.Hasher
	isWide bool
}

// reset begins with a content of about size bytes: the digest does not depend on it.
func (h *contentHasher) reset(size int64) {
	if h.isWide = blake3wide.Fast() && size >= wideFrom; h.isWide {
		h.wide.Reset()
	} else {
		h.narrow.Reset()
	}
}

// Write never fails.
func (h *contentHasher) Write(data []byte) (int, error) {
	if h.isWide {
		return h.wide.Write(data)
	}
	return h.narrow.Write(data)
}

func (h *contentHasher) sum() (k Key) {
	if h.isWide {
		h.wide.Sum(k[:0])
	} else {
		h.narrow.Sum(k[:0])
	}
	return k
}
