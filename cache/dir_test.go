package cache

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func openDir(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func TestDirReadsInAnyOrder(t *testing.T) {
	dir := t.TempDir()
	paths := []string{"a", "x/a", "x/y/b", "x/c", "z/y/b", "b", "x/y/d"}
	for _, path := range paths {
		file := filepath.Join(dir, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(path), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	d := openDir(t, dir)
	for _, path := range append(paths, paths...) {
		var out bytes.Buffer
		file := File{Path: path, Size: int64(len(path)), Digest: Digest([]byte(path))}
		if err := file.CopyTo(&out, d); err != nil || out.String() != path {
			t.Errorf("CopyTo of %s: got %q, %v", path, out.String(), err)
		}
	}
}

func TestDirFollowsNoLinkBelowIt(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "real"} { // the second comes after one that could be entered
		if err := errors.Join(os.Mkdir(filepath.Join(dir, name), 0o700), os.WriteFile(filepath.Join(dir, name, "secret"), []byte("public"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "link")), os.Symlink(outside, filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	d := openDir(t, dir)
	for _, path := range []string{"link/secret", "../" + filepath.Base(outside) + "/secret", filepath.Join(outside, "secret"), "real/../link/secret", "real/.", ""} {
		var out bytes.Buffer
		file := File{Path: path, Size: 6, Digest: Digest([]byte("secret"))}
		if err := file.CopyTo(&out, d); err == nil || out.Len() > 0 {
			t.Errorf("CopyTo of %q: got %q, %v", path, out.String(), err)
		}
	}
	var out bytes.Buffer
	file := File{Path: "real/secret", Size: 6, Digest: Digest([]byte("public"))}
	if err := file.CopyTo(&out, d); err != nil {
		t.Errorf("CopyTo of real/secret: %v", err)
	}
}
