package blake3wide

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/zeebo/blake3"
	"pgregory.net/rapid"
)

// without has the kernel left out until the test ends, as on a processor that
// has no AVX-512.
func without(t *testing.T) {
	t.Helper()
	had := fast
	fast = false
	t.Cleanup(func() { fast = had })
}

// Where a processor has no AVX-512 there is nothing to compare, and nothing fails.
func TestKernelDoesAsTheWordsSay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var in [wide * chunkSize]byte
		seed := rapid.Uint8().Draw(rt, "seed")
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(in[:])
		counter := rapid.OneOf(
			rapid.SampledFrom([]uint64{0, 1<<31 - wide, 1 << 31, 1<<32 - wide, 1 << 32, 1<<54 - wide}),
			rapid.Uint64Range(0, 1<<54-wide),
		).Draw(rt, "counter") / wide * wide
		var got, want [wide * chainSize]byte
		compressChunks(&in, counter, &got)
		eachChunk(&in, counter, &want)
		if got != want {
			rt.Fatalf("chunks from %d on: got %x, want %x", counter, got, want)
		}
		pairs := (*[wide * blockSize]byte)(in[:])
		compressParents(pairs, &got)
		eachParent(pairs, &want)
		if got != want {
			rt.Fatalf("parents: got %x, want %x", got, want)
		}
		compressParents(pairs, (*[wide * chainSize]byte)(pairs[:]))
		if !bytes.Equal(pairs[:len(want)], want[:]) {
			rt.Fatalf("parents in the place of their children: got %x, want %x", pairs[:len(want)], want)
		}
	})
}

func TestDigestsWithoutTheKernel(t *testing.T) {
	without(t)
	data := make([]byte, 600<<10)
	for i := range data {
		data[i] = byte(i * i >> 8)
	}
	for _, size := range []int{0, 1, 1024, 1025, 16 << 10, 16<<10 + 1, 33<<10 - 1, 256 << 10, 600 << 10} {
		var h Hasher
		_, _ = h.Write(data[:size])
		if got, want := h.Sum(nil), blake3.Sum256(data[:size]); !bytes.Equal(got, want[:]) {
			t.Errorf("%d bytes: got %x, want %x", size, got, want)
		}
	}
}

func TestTheKernelIsAsGenerated(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	want, err := exec.Command("go", "run", "gen.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("kernel_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("kernel_amd64.s is not what gen.go prints: run go generate")
	}
}
