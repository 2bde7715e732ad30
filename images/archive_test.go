package images_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/images"
)

// rewritten is an archive with its entries changed and ordered.
func rewritten(t testing.TB, data []byte, change func([]entry) []entry) []byte {
	t.Helper()
	var entries []entry
	for archive := tar.NewReader(bytes.NewReader(data)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry{header, string(content)})
	}
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, e := range change(entries) {
		e.Size = int64(len(e.content))
		if err := errors.Join(archive.WriteHeader(e.Header), write(archive, e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// An archive is taken whatever its order, and only if all in it is right.
func TestReadArchive(t *testing.T) {
	platforms := []string{"linux/amd64", "linux/arm64"}
	image, data := exported(t, platforms...)
	blob := func(e entry) bool { return strings.HasPrefix(e.Name, "blobs/") }
	for _, row := range []struct {
		name      string
		change    func([]entry) []entry
		platforms []string
		want      string
	}{
		{"as it is", func(all []entry) []entry { return all }, platforms, ""},
		{"the other way round", func(all []entry) []entry { slices.Reverse(all); return all }, platforms, ""},
		{"names with a dot", func(all []entry) []entry {
			for i := range all {
				all[i].Name = "./" + all[i].Name
			}
			return all
		}, platforms, ""},
		{"one platform of it", func(all []entry) []entry { return all }, []string{"linux/arm64"}, ""},
		{"a platform that it lacks", func(all []entry) []entry { return all }, []string{"linux/s390x"}, "no platform linux/s390x"},
		{"a blob changed", func(all []entry) []entry {
			at := slices.IndexFunc(all, blob)
			all[at].content += " "
			return all
		}, platforms, cache.ErrDamaged.Error()},
		{"a blob missing", func(all []entry) []entry { return slices.DeleteFunc(all, blob) }, platforms, cache.ErrNotFound.Error()},
		{"a blob of another kind", func(all []entry) []entry {
			all[slices.IndexFunc(all, blob)].Name = "blobs/sha512/../../../evil"
			return all
		}, platforms, cache.ErrNotFound.Error()},
		{"no index", func(all []entry) []entry {
			return slices.DeleteFunc(all, func(e entry) bool { return e.Name == "index.json" })
		}, platforms, "no index.json"},
		{"an index of nothing", func(all []entry) []entry {
			all[slices.IndexFunc(all, func(e entry) bool { return e.Name == "index.json" })].content = `{"manifests":[]}`
			return all
		}, platforms, "0 images"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, t.TempDir())
			s := step(t, "shop/composition-edge", "one", nil)
			s.Recipe.Platforms = row.platforms
			got, err := images.ReadArchive(t.Context(), b.blobs, bytes.NewReader(rewritten(t, data, row.change)), s)
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Fatalf("ReadArchive: got %v, want %q", err, row.want)
			}
			if err == nil && len(row.platforms) == 2 && got.Digest() != image.Digest() {
				t.Errorf("digest: got %s, want %s", got.Digest(), image.Digest())
			}
		})
	}
}

func FuzzReadArchive(f *testing.F) {
	f.Add([]byte("not a tar"))
	f.Add(rewritten(f, nil, func([]entry) []entry {
		return []entry{{&tar.Header{Name: "index.json", Mode: 0o644}, `{"manifests":[{"digest":"sha256:00"}]}`}}
	}))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBench(t, dir)
		s := step(t, "shop/x", "t", nil)
		image, err := images.ReadArchive(t.Context(), b.blobs, bytes.NewReader(data), s)
		if (image == nil) == (err == nil) {
			t.Errorf("ReadArchive: got %v, %v", image, err)
		}
		tmpIsEmpty(t, dir)
	})
}

func FuzzLayoutReference(f *testing.F) {
	f.Add("oci-layout://bases/node:1@sha256:00")
	f.Add("oci-layout:///a:b/c")
	f.Add("ghcr.io/x/y:1")
	f.Fuzz(func(t *testing.T, reference string) {
		dir, target, ok := images.LayoutReference("/root", reference)
		if ok != strings.HasPrefix(reference, "oci-layout://") || ok && !strings.HasPrefix(dir, "/") || !ok && dir+target != "" {
			t.Errorf("LayoutReference(%q): got %q, %q, %t", reference, dir, target, ok)
		}
	})
}
