package cache

import (
	"testing"

	"github.com/zeebo/blake3"
)

// Whichever implementation hashes a content, and whatever size it was said to
// have, its digest is the same: keys and caches of all machines are.
func TestDigestsAreThoseOfBLAKE3(t *testing.T) {
	data := make([]byte, 1<<20+1)
	for i := range data {
		data[i] = byte(i % 251)
	}
	for _, size := range []int{0, 1, wideFrom - 1, wideFrom, wideFrom + 1, 1 << 20, 1<<20 + 1} {
		want := Key(blake3.Sum256(data[:size]))
		if got := Digest(data[:size]); got != want {
			t.Errorf("Digest of %d bytes: got %s, want %s", size, got, want)
		}
		for _, said := range []int64{0, wideFrom} {
			h := hashers.Get().(*contentHasher)
			h.reset(said)
			_, _ = h.Write(data[:size/3])
			_, _ = h.Write(data[size/3 : size])
			if got := h.sum(); got != want {
				t.Errorf("%d bytes where %d were announced: got %s, want %s", size, said, got, want)
			}
			hashers.Put(h)
		}
	}
}
