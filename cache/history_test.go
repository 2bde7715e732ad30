package cache_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"toa.io/toa/cache"
)

func TestHistoryKeepsTheLastTen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.db")
	edge := cache.Timing{Registry: "r", Repository: "shop/edge", Target: "composition/edge"}
	other := cache.Timing{Registry: "r", Repository: "shop/other", Target: "composition/edge"}
	for i := range 12 {
		edge.Took = time.Duration(i) * time.Second
		if err := cache.NewIndex(cache.OpenDB(path, nil)).Took([]cache.Timing{edge}); err != nil {
			t.Fatal(err)
		}
	}
	past := cache.NewIndex(cache.OpenDB(path, nil)).Past([]cache.Timing{other, edge})
	if len(past) != 2 || len(past[0]) != 0 || len(past[1]) != 10 {
		t.Fatalf("past is %v", past)
	}
	if past[1][0] != 2*time.Second || past[1][9] != 11*time.Second || !slices.IsSorted(past[1]) {
		t.Errorf("past is %v, want the last ten in order", past[1])
	}
}

func TestHistoryOfNothing(t *testing.T) {
	dir := t.TempDir()
	timings := []cache.Timing{{Registry: "r", Repository: "a", Target: "b"}}
	if past := cache.NewIndex(cache.OpenDB(filepath.Join(dir, "none.db"), nil)).Past(timings); len(past) != 1 || past[0] != nil {
		t.Errorf("without a file: %v", past)
	}
	damaged := filepath.Join(dir, "damaged.db")
	if err := os.WriteFile(damaged, []byte("no database at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	if past := cache.NewIndex(cache.OpenDB(damaged, nil)).Past(timings); len(past) != 1 || past[0] != nil {
		t.Errorf("of a damaged file: %v", past)
	}
}
