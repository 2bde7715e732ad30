// Package blake3wide computes BLAKE3-256, unkeyed, of much data fast: sixteen
// chunks at a time where a processor has AVX-512 (Fast). It is for large inputs;
// for small ones, and elsewhere, other implementations are faster.
//
// Users may rely on this: digests are those of the BLAKE3 specification, on
// every machine, however the input is split into writes.
package blake3wide

import "math/bits"

const (
	// unit is the input of the smallest subtree that is hashed as a whole, in bytes.
	unit = wide * chunkSize
	// most is how many chunks the largest one has.
	most = 256
)

// Hasher hashes what is written to it. Its zero value is ready. Calls must not overlap.
type Hasher struct {
	stack   stack
	chunks  uint64     // in the stack: a multiple of wide
	pending [unit]byte // what comes after them
	held    int        // bytes in pending
	// level has the chaining values of a subtree's nodes of one level.
	level [most * chainSize]byte
}

// Reset forgets what was written.
func (h *Hasher) Reset() { h.chunks, h.stack.size, h.held = 0, 0, 0 }

// Write adds to the input. It never fails.
func (h *Hasher) Write(data []byte) (int, error) {
	size := len(data)
	if h.held > 0 {
		data = data[h.hold(data):]
		if h.held == unit {
			h.subtree(h.pending[:])
			h.held = 0
		}
	}
	for len(data) >= unit {
		n := h.whole(len(data))
		h.subtree(data[:n])
		data = data[n:]
	}
	h.hold(data)
	return size, nil
}

func (h *Hasher) hold(data []byte) int {
	n := copy(h.pending[h.held:], data)
	h.held += n
	return n
}

// whole is how many of the next size bytes are a subtree: a power of two of
// chunks that begins at a multiple of itself.
func (h *Hasher) whole(size int) int {
	chunks := min(uint64(1)<<(bits.Len(uint(size/chunkSize))-1), most)
	if h.chunks > 0 {
		chunks = min(chunks, h.chunks&-h.chunks)
	}
	return int(chunks) * chunkSize
}

// subtree hashes data that whole allows, down to the two nodes below the
// subtree's root, which may be the root of all.
func (h *Hasher) subtree(data []byte) {
	chunks := len(data) / chunkSize
	for i := 0; i < chunks; i += wide {
		compressChunks((*[unit]byte)(data[i*chunkSize:]), h.chunks+uint64(i), h.lanes(i))
	}
	for n := chunks; n > 2; n /= 2 {
		for i := 0; i < n; i += 2 * wide {
			compressParents((*[wide * blockSize]byte)(h.level[i*chainSize:]), h.lanes(i/2))
		}
	}
	h.stack.push(h.chunks, (*chain)(h.level[:]))
	h.stack.push(h.chunks+uint64(chunks/2), (*chain)(h.level[chainSize:]))
	h.chunks += uint64(chunks)
}

// lanes are places in the level, from the one with this number on.
func (h *Hasher) lanes(from int) *[wide * chainSize]byte {
	return (*[wide * chainSize]byte)(h.level[from*chainSize:])
}

// Sum appends the digest of what was written so far. More may be written after it.
func (h *Hasher) Sum(to []byte) []byte {
	last, left := h.last()
	for left.size > 0 {
		right := last.chain()
		last = left.parentWith(&right)
	}
	digest := last.digest()
	return append(to, digest[:]...)
}

// last is the node at the right end, and what is left of it.
func (h *Hasher) last() (node, stack) {
	left := h.stack
	if h.held == 0 && h.chunks > 0 {
		right := left.pop()
		above := left.parentWith(&right)
		return above, left
	}
	complete := max(h.held-1, 0) / chunkSize
	if complete > 0 { // lanes beyond them hash what was pending before
		var chains [wide * chainSize]byte
		compressChunks(&h.pending, h.chunks, &chains)
		for i := range complete {
			left.push(h.chunks+uint64(i), (*chain)(chains[i*chainSize:]))
		}
	}
	at := h.chunks + uint64(complete)
	left.merge(at)
	return chunkOf(h.pending[complete*chunkSize:h.held], at), left
}
