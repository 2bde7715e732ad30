package images

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
	"toa.io/toa/orchestrator"
)

// archive is a tar of files in the order of paths.
func archive(paths []string, text map[string]string) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, path := range paths {
		_ = w.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(text[path])), Typeflag: tar.TypeReg})
		_, _ = io.WriteString(w, text[path])
	}
	_ = w.Close()
	return out.Bytes()
}

func inMemory(data []byte) content {
	return content{Descriptor: v1.Descriptor{Size: int64(len(data))}, origin: memory(data)}
}

// In whatever order two layers have their files, exactly those that differ are
// told.
func TestComparedInAnyOrder(t *testing.T) {
	files := rapid.MapOfN(rapid.StringMatching(`[a-e]/[a-e]`), rapid.StringMatching(`[01]`), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		was, is := files.Draw(t, "was"), files.Draw(t, "is")
		order := func(m map[string]string, label string) []string {
			return rapid.Permutation(slices.Sorted(keysOf(m))).Draw(t, label)
		}
		want := map[string]string{}
		for path, text := range was {
			if other, ok := is[path]; !ok {
				want["/"+path] = onlyPublished
			} else if other != text {
				want["/"+path] = "content"
			}
		}
		for path := range is {
			if _, ok := was[path]; !ok {
				want["/"+path] = onlyRebuilt
			}
		}
		a, b := archive(order(was, "first"), was), archive(order(is, "second"), is)
		got, err := compareLayers(context.Background(), inMemory(a), inMemory(b))
		if err != nil {
			t.Fatal(err)
		}
		if len(want) == 0 {
			want[""] = "packed otherwise, with the same files"
		}
		for _, d := range got {
			if want[d.Path] != d.What {
				t.Fatalf("%s is told, want %q", d, want[d.Path])
			}
			delete(want, d.Path)
		}
		if len(want) > 0 {
			t.Fatalf("not told: %v", want)
		}
	})
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

func TestCompressionsAreTold(t *testing.T) {
	plain := archive([]string{"a"}, map[string]string{"a": "1"})
	var zipped, squeezed bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(plain)
	_ = z.Close()
	s, err := zstd.NewWriter(&squeezed)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = s.Write(plain)
	_ = s.Close()
	for _, other := range [][]byte{zipped.Bytes(), squeezed.Bytes()} {
		got, err := compareLayers(t.Context(), inMemory(plain), inMemory(other))
		if err != nil || len(got) != 1 || !strings.HasPrefix(got[0].What, "packed otherwise") {
			t.Errorf("compareLayers: %v, %v", got, err)
		}
	}
	if _, err := compareLayers(t.Context(), inMemory(plain), inMemory([]byte("this is no archive, of no kind at all, and long"))); err == nil {
		t.Error("text was taken for a layer")
	}
}

// endless is the origin of a tar with one large file.
type endless int64

func (e endless) open(context.Context, v1.Descriptor) (io.ReadCloser, error) {
	reader, writer := io.Pipe()
	go func() {
		w := tar.NewWriter(writer)
		_ = w.WriteHeader(&tar.Header{Name: "large", Mode: 0o644, Size: int64(e), Typeflag: tar.TypeReg})
		_, err := io.CopyN(w, zeros{}, int64(e))
		_ = writer.CloseWithError(err)
	}()
	return reader, nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestLargeFilesAreNotKept(t *testing.T) {
	const size = 64 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := compareLayers(t.Context(), content{origin: endless(size)}, content{origin: endless(size + 1)})
	runtime.ReadMemStats(&after)
	if err != nil || len(got) != 1 || got[0].String() != (orchestrator.Difference{Path: "/large", What: "content"}).String() {
		t.Fatalf("compareLayers: %v, %v", got, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > size/8 {
		t.Errorf("%d MiB were allocated for a file of %d MiB", used>>20, size>>20)
	}
}

func FuzzCompareLayers(f *testing.F) {
	good := archive([]string{"a", "b"}, map[string]string{"a": "1", "b": "2"})
	f.Add(good, archive([]string{"b"}, map[string]string{"b": "3"}))
	f.Add([]byte{0x1f, 0x8b}, good)
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd}, []byte{})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		got, err := compareLayers(t.Context(), inMemory(a), inMemory(b))
		if err == nil && len(got) == 0 {
			t.Error("two layers were compared, and nothing was said")
		}
		if back, other := compareLayers(t.Context(), inMemory(b), inMemory(a)); (err == nil) != (other == nil) && len(back) != len(got) {
			t.Errorf("%v, %v one way, %v, %v the other", got, err, back, other)
		}
	})
}

func FuzzCompareConfigs(f *testing.F) {
	f.Add([]byte(`{"config":{"Env":["A=1"]},"history":[{"created":"x"}]}`), []byte(`{"config":{"Env":["A=2","B"]}}`))
	f.Add([]byte(`null`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		one := func(raw []byte) child {
			return child{config: content{Descriptor: v1.Descriptor{Digest: describe("", raw).Digest}, origin: memory(raw)}}
		}
		there, err := compareConfigs(t.Context(), one(a), one(b))
		back, other := compareConfigs(t.Context(), one(b), one(a))
		if fmt.Sprint(err == nil, len(there)) != fmt.Sprint(other == nil, len(back)) {
			t.Errorf("%v, %v one way, %v, %v the other", there, err, back, other)
		}
	})
}
