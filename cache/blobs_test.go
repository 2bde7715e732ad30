package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

func openBlobs(t *testing.T) *Blobs {
	t.Helper()
	b, err := OpenBlobs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBlobsKeepContent(t *testing.T) {
	b := openBlobs(t)
	digest, err := b.Keep([]byte("hello"))
	if err != nil || digest != "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
		t.Fatalf("Keep: %q, %v", digest, err)
	}
	if data, err := b.Bytes(digest); string(data) != "hello" || err != nil {
		t.Errorf("Bytes: %q, %v", data, err)
	}
	if !b.Has(digest, 5) || b.Has(digest, 4) {
		t.Error("Has does not go by the size")
	}
	path, err := b.Path(digest)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode: %v, %v, want 0600", info.Mode(), err)
	}
}

func TestBlobWriterLeavesNothing(t *testing.T) {
	b := openBlobs(t)
	for name, end := range map[string]func(w *BlobWriter) error{
		"abort":        func(w *BlobWriter) error { w.Abort(); return ErrDamaged },
		"wrong digest": func(w *BlobWriter) error { defer w.Abort(); return w.Commit("sha256:" + strings.Repeat("0", 64)) },
	} {
		w, err := b.Create()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, "hello"); err != nil {
			t.Fatal(err)
		}
		if err := end(w); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v, want ErrDamaged", name, err)
		}
		for _, dir := range []string{b.temporary(), b.contents()} {
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%s leaves %v in %s (%v)", name, left, dir, err)
			}
		}
	}
}

func TestDamagedBlobIsRemoved(t *testing.T) {
	for name, harm := range map[string]func(data []byte) []byte{
		"bit":    func(data []byte) []byte { data[3] ^= 1; return data },
		"cut":    func(data []byte) []byte { return data[:3] },
		"longer": func(data []byte) []byte { return append(data, 'x') },
		"empty":  func([]byte) []byte { return nil },
	} {
		b := openBlobs(t)
		digest, err := b.Keep([]byte("hello, world"))
		if err != nil {
			t.Fatal(err)
		}
		path, err := b.Path(digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, harm([]byte("hello, world")), 0o600); err != nil {
			t.Fatal(err)
		}
		if data, err := b.Bytes(digest); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: Bytes: %q, %v, want ErrNotFound", name, data, err)
		}
		if _, err := b.Open(digest); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: it was not removed: %v", name, err)
		}
	}
}

func TestLayersComeBack(t *testing.T) {
	b := openBlobs(t)
	digest, err := b.Keep([]byte("a layer"))
	if err != nil {
		t.Fatal(err)
	}
	layer := Layer{Digest: digest, DiffID: digest, Size: 7}
	key, other := Digest([]byte("key")), Digest([]byte("other"))
	if err := b.PutLayer(key, layer); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Layer(key); got != layer || err != nil {
		t.Errorf("Layer: got %v, %v, want %v", got, err, layer)
	}
	if _, err := b.Layer(other); !errors.Is(err, ErrNotFound) {
		t.Errorf("Layer of another key: got %v, want ErrNotFound", err)
	}
	record := filepath.Join(b.layers(), key.String())
	whole, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.layers(), other.String()), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Layer(other); !errors.Is(err, ErrNotFound) {
		t.Errorf("Layer of a record that strayed: got %v, want ErrNotFound", err)
	}
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0x10
		if err := os.WriteFile(record, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Layer(key); !errors.Is(err, ErrNotFound) {
			t.Fatalf("Layer with byte %d damaged: got %v, %v", i, got, err)
		}
	}
}

func TestProcessesWriteTheSameBlob(t *testing.T) {
	dir := t.TempDir()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			b, err := OpenBlobs(dir)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 50 {
				digest, err := b.Keep(fmt.Append(nil, "content ", i%5))
				if err == nil {
					_, err = b.Bytes(digest)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

func TestDigestsAreNoPaths(t *testing.T) {
	b := openBlobs(t)
	for _, digest := range []string{"", "sha256:", "sha256:../../../etc/passwd", "sha256:" + strings.Repeat("A", 64), "md5:" + strings.Repeat("a", 64)} {
		if path, err := b.Path(digest); err == nil {
			t.Errorf("Path(%q): got %q, want an error", digest, path)
		}
	}
}

func TestAbandonedFilesAreSwept(t *testing.T) {
	b := openBlobs(t)
	old, err := b.Temp("npm")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := os.Chtimes(old, now.Add(-48*time.Hour), now.Add(-48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	young, err := b.Temp("npm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenBlobs(b.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old one is there: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("the young one is gone: %v", err)
	}
}

func TestVerify(t *testing.T) {
	const text = "some content"
	b := openBlobs(t)
	digest, err := b.Keep([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, content string
		size          int64
		fail          bool
	}{
		{"right", text, 12, false},
		{"other", "same length!", 12, true},
		{"short", text[:5], 12, true},
		{"long", text + "!", 12, true},
		{"announced shorter", text, 11, true},
		{"announced longer", text, 13, true},
	} {
		for kind, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "with EOF": iotest.DataErrReader,
		} {
			got, err := io.ReadAll(Verify(wrap(strings.NewReader(row.content)), digest, row.size))
			if errors.Is(err, ErrDamaged) != row.fail {
				t.Errorf("%s, %s: got %v", row.name, kind, err)
			}
			if !row.fail && string(got) != text {
				t.Errorf("%s, %s: got %q", row.name, kind, got)
			}
			if row.name == "other" && len(got) == len(text) {
				t.Errorf("%s: all of a wrong content was passed on", kind)
			}
		}
	}
}

func FuzzLayerRecord(f *testing.F) {
	key := Digest([]byte("key"))
	digest := "sha256:" + strings.Repeat("ab", 32)
	f.Add(encodeLayer(key, Layer{Digest: digest, DiffID: digest, Size: 9}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, record []byte) {
		// The checksum keeps nearly all out; what is behind it is tried too.
		for _, r := range [][]byte{record, seal(key[:], record)} {
			layer, err := decodeLayer(key, r)
			if err != nil {
				continue
			}
			if again, err := decodeLayer(key, encodeLayer(key, layer)); again != layer || err != nil || layer.Size < 0 {
				t.Errorf("decodeLayer(%x): got %+v, which comes back as %+v, %v", r, layer, again, err)
			}
		}
	})
}
