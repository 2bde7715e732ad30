package cache_test

import (
	"os"
	"path/filepath"
	"testing"

	"toa.io/toa/cache"
)

// A file's holes are not on the disk.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, bytes int) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, bytes), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("a/whole", 10_000)
	if err := os.Truncate(write("a/b/sparse", 100), 16<<20); err != nil {
		t.Fatal(err)
	}
	got, err := cache.Measure(dir)
	if err != nil || got.Files != 2 || got.Bytes < 10_000 || got.Bytes > 1<<20 {
		t.Errorf("got %+v, %v, want 2 files and what they hold", got, err)
	}
	none, err := cache.Measure(filepath.Join(dir, "absent"))
	if err != nil || none != (cache.Usage{}) {
		t.Errorf("a directory that is not there: %+v, %v", none, err)
	}
}
