package blake3wide_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/zeebo/blake3"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"toa.io/toa/internal/blake3wide"
)

// published are digests of the BLAKE3 team's test_vectors.json: of so many
// bytes that count from 0 to 250 and over again.
var published = map[int]string{
	0:     "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
	1:     "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
	1023:  "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11",
	1024:  "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
	1025:  "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444",
	2048:  "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a",
	2049:  "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030",
	3072:  "b98cb0ff3623be03326b373de6b9095218513e64f1ee2edd2525c7ad1e5cffd2",
	3073:  "7124b49501012f81cc7f11ca069ec9226cecb8a2c850cfe644e327d22d3e1cd3",
	4096:  "015094013f57a5277b59d8475c0501042c0b642e531b0a1c8f58d2163229e969",
	4097:  "9b4052b38f1c5fc8b1f9ff7ac7b27cd242487b3d890d15c96a1c25b8aa0fb995",
	5120:  "9cadc15fed8b5d854562b26a9536d9707cadeda9b143978f319ab34230535833",
	5121:  "628bd2cb2004694adaab7bbd778a25df25c47b9d4155a55f8fbd79f2fe154cff",
	6144:  "3e2e5b74e048f3add6d21faab3f83aa44d3b2278afb83b80b3c35164ebeca205",
	6145:  "f1323a8631446cc50536a9f705ee5cb619424d46887f3c376c695b70e0f0507f",
	7168:  "61da957ec2499a95d6b8023e2b0e604ec7f6b50e80a9678b89d2628e99ada77a",
	7169:  "a003fc7a51754a9b3c7fae0367ab3d782dccf28855a03d435f8cfe74605e7817",
	8192:  "aae792484c8efe4f19e2ca7d371d8c467ffb10748d8a5a1ae579948f718a2a63",
	8193:  "bab6c09cb8ce8cf459261398d2e7aef35700bf488116ceb94a36d0f5f1b7bc3b",
	16384: "f875d6646de28985646f34ee13be9a576fd515f76b5b0a26bb324735041ddde4",
	31744: "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47",
}

func counting(size int) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i % 251)
	}
	return data
}

func sum(data []byte) []byte {
	var h blake3wide.Hasher
	_, _ = h.Write(data)
	return h.Sum(nil)
}

func TestPublishedDigests(t *testing.T) {
	for size, want := range published {
		if got := hex.EncodeToString(sum(counting(size))); got != want {
			t.Errorf("%d bytes: got %s, want %s", size, got, want)
		}
	}
}

// Everything changes at the ends of chunks: which are full, whether there is a
// parent, what is left for the end.
func TestEndsOfChunks(t *testing.T) {
	data := counting(70<<10 + 1)
	for chunks := range 71 {
		for _, size := range []int{chunks<<10 - 1, chunks << 10, chunks<<10 + 1} {
			if size < 0 {
				continue
			}
			if got, want := sum(data[:size]), blake3.Sum256(data[:size]); !bytes.Equal(got, want[:]) {
				t.Errorf("%d bytes: got %x, want %x", size, got, want)
			}
		}
	}
}

// The digest depends on neither the writes nor on what was hashed before, and
// may be asked for in between.
func TestAnySplitGivesTheSame(t *testing.T) {
	data := counting(1<<20 + 17)
	var h blake3wide.Hasher
	rapid.Check(t, func(rt *rapid.T) {
		h.Reset()
		size := sizes(len(data)).Draw(rt, "size")
		for at := 0; at < size; {
			next := at + sizes(size-at).Draw(rt, "write")
			if n, err := h.Write(data[at:next]); n != next-at || err != nil {
				rt.Fatalf("Write of %d bytes: %d, %v", next-at, n, err)
			}
			at = next
			if rapid.Bool().Draw(rt, "look") {
				compare(rt, &h, data[:at])
			}
		}
		compare(rt, &h, data[:size])
	})
}

// sizes are up to most, often whole chunks or nearly so.
func sizes(most int) *rapid.Generator[int] {
	return rapid.Custom(func(t *rapid.T) int {
		chunks := rapid.SampledFrom([]int{0, 1, 2, 15, 16, 17, 32, 64, 128, 255, 256, 257, 512}).Draw(t, "chunks")
		near := chunks<<10 + rapid.SampledFrom([]int{-1, 0, 1, 63, 64, 65}).Draw(t, "beside")
		return min(max(0, rapid.OneOf(rapid.Just(near), rapid.IntRange(0, most)).Draw(t, "size")), most)
	})
}

type reporter interface {
	Helper()
	Fatalf(format string, arguments ...any)
}

func compare(t reporter, h *blake3wide.Hasher, data []byte) {
	t.Helper()
	if got, want := h.Sum(nil), blake3.Sum256(data); !bytes.Equal(got, want[:]) {
		t.Fatalf("%d bytes: got %x, want %x", len(data), got, want)
	}
}

// Any bytes, many times over and cut anywhere, hash to what they do elsewhere.
func FuzzHasher(f *testing.F) {
	f.Add([]byte("abc"), []byte{1})
	f.Add(counting(1025), []byte{16, 3, 255, 17, 0})
	f.Fuzz(func(t *testing.T, data, cuts []byte) {
		data = bytes.Repeat(data, 1+min(32, 1<<20/(len(data)+1)))
		var h blake3wide.Hasher
		rest := data
		for _, cut := range cuts {
			n := min(int(cut)*257, len(rest))
			_, _ = h.Write(rest[:n])
			rest = rest[n:]
		}
		_, _ = h.Write(rest)
		compare(t, &h, data)
	})
}

// Behind the input there is a page that nobody may touch, and one before it.
func TestNothingBesideTheInputIsRead(t *testing.T) {
	const pages = 9 * 4096
	page := unix.Getpagesize()
	size := (pages + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	data := memory[page : page+size]
	copy(data, counting(size))
	for _, guard := range [][]byte{memory[:page], memory[page+size:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	for n := range size {
		if n%1021 != 0 && n%1024 != 0 {
			continue
		}
		for _, input := range [][]byte{data[size-n:], data[:n]} {
			if got, want := sum(input), blake3.Sum256(input); !bytes.Equal(got, want[:]) {
				t.Errorf("%d bytes: got %x, want %x", n, got, want)
			}
		}
	}
}

func BenchmarkHash(b *testing.B) {
	for _, size := range []int{16 << 10, 32 << 10, 256 << 10, 4 << 20} {
		data := counting(size)
		b.Run(fmt.Sprintf("%dKiB/wide", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			var h blake3wide.Hasher
			var out [32]byte
			for b.Loop() {
				h.Reset()
				_, _ = h.Write(data)
				h.Sum(out[:0])
			}
		})
		b.Run(fmt.Sprintf("%dKiB/zeebo", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			h := blake3.New()
			var out [32]byte
			for b.Loop() {
				h.Reset()
				_, _ = h.Write(data)
				h.Sum(out[:0])
			}
		})
	}
}
