package release_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"slices"
	"strings"
	"testing"

	"toa.io/toa/chart"
	"toa.io/toa/release"
)

func TestUnpackReadsWhatWasPacked(t *testing.T) {
	want := shop(t)
	_, data := packaged(t, &release.Packager{Dir: t.TempDir()}, want)
	got, err := release.Unpack(data)
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b chart.File) bool { return a.Path == b.Path && bytes.Equal(a.Data, b.Data) }
	if got.Name != want.Name || got.Version != want.Version || !slices.EqualFunc(got.Files, want.Files, same) {
		t.Errorf("unpacked %s %s with %d files", got.Name, got.Version, len(got.Files))
	}
}

// archived makes a package of entries, by name.
func archived(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	archive := tar.NewWriter(zip)
	for _, header := range entries {
		content := "name: shop\nversion: 1.0.0\n"
		header.Mode = 0o644
		if header.Typeflag == tar.TypeReg {
			header.Size = int64(len(content))
		}
		if err := archive.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			if _, err := archive.Write([]byte(content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }

func TestUnpackRefuses(t *testing.T) {
	whole := archived(t, file("shop/Chart.yaml"))
	if _, err := release.Unpack(whole); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"nothing":                nil,
		"text":                   []byte("name: shop"),
		"half of a package":      whole[:len(whole)/2],
		"no Chart.yaml":          archived(t, file("shop/values.yaml")),
		"a file above":           archived(t, file("shop/Chart.yaml"), file("shop/../../etc/passwd")),
		"a file beside":          archived(t, file("Chart.yaml")),
		"an absolute path":       archived(t, file("shop/Chart.yaml"), file("//etc/passwd")),
		"a file twice":           archived(t, file("shop/Chart.yaml"), file("shop/Chart.yaml")),
		"a link":                 archived(t, file("shop/Chart.yaml"), tar.Header{Name: "shop/a", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}),
		"an archive of no chart": archived(t),
	} {
		var broken *release.PackageError
		if c, err := release.Unpack(data); !errors.As(err, &broken) || !strings.HasPrefix(err.Error(), "read package: ") {
			t.Errorf("%s: unpacked %+v, %v", name, c, err)
		}
	}
}

// Whatever a package holds, no file of it has a path that leaves the chart.
func FuzzUnpack(f *testing.F) {
	f.Add(archived(f, file("shop/Chart.yaml"), file("shop/templates/a.yaml")))
	f.Add(archived(f, file("shop/../Chart.yaml")))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := release.Unpack(data)
		if err != nil {
			return
		}
		if c.Name == "" || c.Version == "" {
			t.Error("a chart without a name or a version")
		}
		for _, file := range c.Files {
			if strings.HasPrefix(file.Path, "/") || slices.Contains(strings.Split(file.Path, "/"), "..") {
				t.Errorf("a file at %q", file.Path)
			}
		}
	})
}
