package cache_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toa.io/toa/cache"
)

const (
	host = "registry.example.com"
	repo = "registry.example.com/shop/composition-edge"
)

func keyOf(n int) cache.Key { return cache.Digest(fmt.Append(nil, n)) }

func digestOf(n int) string { return fmt.Sprintf("sha256:%064d", n) }

func put(t *testing.T, x *cache.Index, n int) {
	t.Helper()
	entry := cache.Entry{Digest: digestOf(n), Platforms: []string{"linux/amd64", "linux/arm64"}, VerifiedAt: time.Unix(int64(n), 0)}
	if err := x.Put(host, repo, keyOf(n), entry, "composition/edge", []cache.Input{{Label: "n", Value: fmt.Sprint(n)}}); err != nil {
		t.Fatal(err)
	}
}

func TestIndexKeepsWhatIsPut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db", "index.db")
	put(t, cache.NewIndex(cache.OpenDB(path, nil)), 1)
	put(t, cache.NewIndex(cache.OpenDB(path, nil)), 2)
	x := cache.NewIndex(cache.OpenDB(path, func(w string) { t.Error("warning:", w) }))
	entry, err := x.Get(host, repo, keyOf(1))
	if err != nil || entry.Digest != digestOf(1) || len(entry.Platforms) != 2 || !entry.VerifiedAt.Equal(time.Unix(1, 0)) {
		t.Errorf("Get = %+v, %v", entry, err)
	}
	if latest, err := x.Latest(host, repo, "composition/edge"); err != nil || latest != keyOf(2) {
		t.Errorf("Latest = %v, %v", latest, err)
	}
	if inputs, err := x.InputsByTag(host, repo, keyOf(1).Tag()); err != nil || len(inputs) != 1 || inputs[0].Value != "1" {
		t.Errorf("InputsByTag = %v, %v", inputs, err)
	}
	x.Forget(host, repo, keyOf(1))
	for name, index := range map[string]*cache.Index{"here": x, "later": cache.NewIndex(cache.OpenDB(path, nil))} {
		if _, err := index.Get(host, repo, keyOf(1)); !errors.Is(err, cache.ErrNotFound) {
			t.Errorf("%s: a forgotten row gives %v", name, err)
		}
	}
	for name, get := range map[string]func() error{
		"another registry":   func() error { _, err := x.Get("other.example.com", repo, keyOf(2)); return err },
		"another repository": func() error { _, err := x.Get(host, repo+"2", keyOf(2)); return err },
		"another key":        func() error { _, err := x.Get(host, repo, keyOf(3)); return err },
		"another target":     func() error { _, err := x.Latest(host, repo, "dependencies/edge"); return err },
		"no tag":             func() error { _, err := x.InputsByTag(host, repo, "zz"); return err },
	} {
		if err := get(); !errors.Is(err, cache.ErrNotFound) {
			t.Errorf("%s: got %v, want ErrNotFound", name, err)
		}
	}
}

// Whatever happens to the file, the index answers rightly or not at all, and
// takes new rows again. What bbolt makes of such files after a power cut:
// etcd-io/bbolt#325, #335, #537, #701, boltdb/bolt#348; that it panics rather
// than says so: etcd-io/bbolt#446.
func TestDamagedIndexCostsTimeOnly(t *testing.T) {
	const rows = 200
	whole := filepath.Join(t.TempDir(), "db", "index.db")
	x := cache.NewIndex(cache.OpenDB(whole, nil))
	for n := range rows {
		put(t, x, n)
	}
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	used := len(bytes.TrimRight(data, "\x00"))
	data = data[:(used/4096+1)*4096] // the rest is room to grow
	random := rand.New(rand.NewPCG(1, 2))
	mutants := map[string]func([]byte) []byte{
		"truncate":  func(b []byte) []byte { return b[:random.IntN(len(b))] },
		"flip":      func(b []byte) []byte { b[random.IntN(len(b))] ^= 1 << random.IntN(8); return b },
		"zero page": func(b []byte) []byte { clear(b[random.IntN(len(b)/4096)*4096:][:4096]); return b },
		"noise page": func(b []byte) []byte {
			for i, at := 0, random.IntN(len(b)/4096)*4096; i < 4096; i++ {
				b[at+i] = byte(random.Uint32())
			}
			return b
		},
		"foreign": func([]byte) []byte { return []byte(strings.Repeat("not a database\n", 5000)) },
		"empty":   func([]byte) []byte { return nil },
	}
	rounds := 5000 / len(mutants)
	if testing.Short() {
		rounds = 20
	}
	for _, name := range slices.Sorted(maps.Keys(mutants)) { // one order, or each run damages other bytes
		mutate := mutants[name]
		t.Run(name, func(t *testing.T) {
			var group sync.WaitGroup
			places := make(chan struct{}, 2*runtime.GOMAXPROCS(0)) // most of the time is the disk's
			for range rounds + 1 {
				mutant := mutate(bytes.Clone(data))
				places <- struct{}{}
				group.Go(func() {
					cache.Promptly(t, func() time.Duration { return damagedIndex(t, mutant, rows) })
					<-places
				})
			}
			group.Wait()
		})
	}
}

// damagedIndex works with an index of such a file, and returns how long it took.
func damagedIndex(t *testing.T, data []byte, rows int) time.Duration {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "db")
	path := filepath.Join(dir, "index.db")
	if err := errors.Join(err, os.WriteFile(path, data, 0o600)); err != nil {
		t.Error(err)
		return 0
	}
	defer func() { _ = os.RemoveAll(dir) }()
	warnings := 0
	warn := func(w string) {
		if warnings++; !strings.Contains(w, path) {
			t.Errorf("a warning that does not name the file: %s", w)
		}
	}
	began := time.Now()
	db := cache.OpenDB(path, warn)
	db.Volatile = true // the disk would be most of it
	x := cache.NewIndex(db)
	for n := range rows {
		if entry, err := x.Get(host, repo, keyOf(n)); err == nil && entry.Digest != digestOf(n) {
			t.Errorf("a wrong digest for row %d: %s", n, entry.Digest)
		}
	}
	entry := cache.Entry{Digest: digestOf(rows), VerifiedAt: time.Now()}
	if err := x.Put(host, repo, keyOf(rows), entry, "composition/edge", nil); err != nil {
		return time.Since(began) // refused is fine; lost in silence would not be
	}
	// In a tree whose branches are damaged a new row may not be found again:
	// that is one request more, not a wrong answer.
	if got, err := cache.NewIndex(cache.OpenDB(path, nil)).Get(host, repo, keyOf(rows)); err == nil && got.Digest != digestOf(rows) {
		t.Errorf("a row that was kept is %v", got)
	}
	if warnings > 2 {
		t.Errorf("%d warnings", warnings)
	}
	return time.Since(began)
}

// A file that cannot be used at all is one warning, which says where it is.
// nrwl/nx#28640
func TestUnusableFilesAreOneWarning(t *testing.T) {
	tests := map[string]func(t *testing.T, path string){
		"a directory": func(t *testing.T, path string) { must(t, os.MkdirAll(path, 0o700)) },
		"a pipe":      func(t *testing.T, path string) { must(t, os.Mkdir(filepath.Dir(path), 0o700), mkfifo(path)) },
		"its directory is a file": func(t *testing.T, path string) {
			must(t, os.WriteFile(filepath.Dir(path), nil, 0o600))
		},
		"others can write there": func(t *testing.T, path string) {
			put(t, cache.NewIndex(cache.OpenDB(path, nil)), 1)
			must(t, os.Chmod(filepath.Dir(path), 0o777))
		},
	}
	for name, arrange := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "db", "index.db")
			arrange(t, path)
			cache.Promptly(t, func() time.Duration {
				began := time.Now()
				var warnings []string
				x := cache.NewIndex(cache.OpenDB(path, func(w string) { warnings = append(warnings, w) }))
				if _, err := x.Get(host, repo, keyOf(1)); !errors.Is(err, cache.ErrNotFound) {
					t.Errorf("Get: %v", err)
				}
				if err := x.Put(host, repo, keyOf(2), cache.Entry{Digest: digestOf(2)}, "composition/edge", nil); err == nil {
					t.Error("Put says that it kept the row")
				}
				if len(warnings) != 1 || !strings.Contains(warnings[0], path) {
					t.Errorf("warnings: %q", warnings)
				}
				return time.Since(began)
			})
		})
	}
}

func TestManyWritersLoseNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db", "index.db")
	var wait sync.WaitGroup
	for process := range 4 {
		x := cache.NewIndex(cache.OpenDB(path, func(w string) { t.Error("warning:", w) }))
		for image := range 8 {
			wait.Go(func() {
				n := process*8 + image
				if err := x.Put(host, repo, keyOf(n), cache.Entry{Digest: digestOf(n)}, fmt.Sprint("composition/", n), nil); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
	x := cache.NewIndex(cache.OpenDB(path, nil))
	for n := range 32 {
		if entry, err := x.Get(host, repo, keyOf(n)); err != nil || entry.Digest != digestOf(n) {
			t.Errorf("row %d: %v, %v", n, entry, err)
		}
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
