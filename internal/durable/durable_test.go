package durable_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"toa.io/toa/internal/durable"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	file := durable.File{Path: filepath.Join(dir, "a"), Temp: filepath.Join(dir, ".a-*"), Mode: 0o644}
	holds := func(want string) {
		t.Helper()
		data, err := os.ReadFile(file.Path)
		if err != nil || string(data) != want {
			t.Errorf("it holds %q, %v, want %q", data, err, want)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("%v, %v beside it, want nothing", entries, err)
		}
	}
	for _, text := range []string{"one", "another"} {
		if err := file.WriteBytes([]byte(text)); err != nil {
			t.Fatal(err)
		}
		holds(text)
	}
	if info, err := os.Stat(file.Path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode: %v, %v", info.Mode(), err)
	}
	broken := errors.New("broken")
	err := file.Write(func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want what went wrong", err)
	}
	holds("another")
	if err := errors.Join(durable.Sync(file.Path), durable.Sync(dir)); err != nil {
		t.Error(err)
	}
	file.Temp = filepath.Join(dir, "absent", "*")
	if err := file.WriteBytes(nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a place for it: %v", err)
	}
	holds("another")
}
