package cache

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func TestCopyToGivesWhatWasHashed(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	copied := openDir(t, dir)
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.SampledFrom([]int{0, 1, 4095, 256 << 10, 256<<10 + 1, 600_000}).Draw(rt, "size")
		content := bytes.Repeat([]byte{rapid.Byte().Draw(rt, "byte")}, size)
		if err := os.WriteFile(filepath.Join(dir, "file"), content, 0o600); err != nil {
			rt.Fatal(err)
		}
		file, err := FileAt(root, "file")
		if err != nil {
			rt.Fatal(err)
		}
		if want := (File{Path: "file", Size: int64(size), Digest: Digest(content)}); file.Digest != want.Digest || file.Size != want.Size {
			rt.Fatalf("FileAt: got %+v, want %+v", file, want)
		}
		var out bytes.Buffer
		if err := file.CopyTo(&out, copied); err != nil || !bytes.Equal(out.Bytes(), content) {
			rt.Fatalf("CopyTo: %d bytes, %v, want %d", out.Len(), err, size)
		}
	})
}

func TestCopyToNoticesChanges(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("aaaa"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name   string
		change func(path string) error
	}{
		{"same size", func(path string) error { return os.WriteFile(path, []byte("bbbb"), 0o600) }},
		{"longer", func(path string) error { return os.WriteFile(path, []byte("aaaaa"), 0o600) }},
		{"shorter", func(path string) error { return os.WriteFile(path, []byte("aaa"), 0o600) }},
		{"gone", os.Remove},
		{"pipe", func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) }},
		{"directory", func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }},
		{"link outside", func(path string) error { return errors.Join(os.Remove(path), os.Symlink(outside, path)) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			if err := os.WriteFile(path, []byte("aaaa"), 0o600); err != nil {
				t.Fatal(err)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = root.Close() }()
			file, err := FileAt(root, "file")
			if err != nil {
				t.Fatal(err)
			}
			if err := row.change(path); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err = file.CopyTo(&out, openDir(t, dir))
			var changed *ChangedError
			if !errors.As(err, &changed) {
				t.Fatalf("CopyTo: got %v", err)
			}
			if changed.Path != "file" || changed.Hint() == "" {
				t.Errorf("CopyTo: %+v names neither file nor remedy", changed)
			}
			if int64(out.Len()) > file.Size {
				t.Errorf("%d bytes were written, %d announced", out.Len(), file.Size)
			}
		})
	}
}

func TestGeneratedFilesAreCopiedFromMemory(t *testing.T) {
	for _, content := range []string{"", "x"} {
		var out bytes.Buffer
		file := Generated("a", append([]byte{}, content...))
		if err := file.CopyTo(&out, nil); err != nil || out.String() != content {
			t.Errorf("CopyTo: got %q, %v, want %q", out.String(), err, content)
		}
	}
}
