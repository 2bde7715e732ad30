package cache_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"toa.io/toa/cache"
)

// day is the n-th day of the tests' calendar.
func day(n int) time.Time { return time.Unix(int64(n)*24*3600, 0) }

func putAt(t *testing.T, x *cache.Index, n int, at time.Time, target string) {
	t.Helper()
	inputs := []cache.Input{{Label: "n", Value: strings.Repeat("x", 1000)}}
	must(t, x.Put(host, repo, keyOf(n), cache.Entry{Digest: digestOf(n), VerifiedAt: at}, target, inputs))
}

func has(x *cache.Index, n int) bool {
	entry, err := x.Get(host, repo, keyOf(n))
	return err == nil && entry.Digest == digestOf(n)
}

func TestPruneKeepsByAgeAndCount(t *testing.T) {
	tests := map[string]struct {
		keep cache.Keep
		want []int
	}{
		"nothing bounded":  {cache.Keep{}, []int{0, 1, 2, 3, 4, 5}},
		"by age":           {cache.Keep{Age: 3 * 24 * time.Hour}, []int{0, 3, 4, 5}},
		"by count":         {cache.Keep{Count: 3}, []int{0, 4, 5}},
		"by size":          {cache.Keep{Bytes: 3000}, []int{0, 5}},
		"all is too large": {cache.Keep{Bytes: 1}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "db", "index.db")
			x := cache.NewIndex(cache.OpenDB(path, func(w string) { t.Error("warning:", w) }))
			putAt(t, x, 0, day(0), "composition/old") // the last of its target, and old
			for n := 1; n <= 5; n++ {
				putAt(t, x, n, day(n), "composition/edge")
			}
			done, err := x.Prune(test.keep, day(6))
			must(t, err)
			if done.Kept != len(test.want) || done.Dropped != 6-len(test.want) {
				t.Errorf("%+v", done)
			}
			later := cache.NewIndex(cache.OpenDB(path, nil))
			for n := range 6 {
				want := contains(test.want, n)
				if has(x, n) != want || has(later, n) != want {
					t.Errorf("row %d: here %t, later %t, want %t", n, has(x, n), has(later, n), want)
				}
				if _, err := later.Inputs(host, repo, keyOf(n)); (err == nil) != want {
					t.Errorf("inputs of row %d: %v", n, err)
				}
			}
			if latest, err := later.Latest(host, repo, "composition/edge"); (err == nil) != contains(test.want, 5) {
				t.Errorf("Latest = %v, %v", latest, err)
			}
		})
	}
}

func contains(all []int, n int) bool { return strings.Contains(fmt.Sprint(all), fmt.Sprint(n)) }

// bbolt's files never shrink by themselves (its README).
func TestPruneGivesSpaceBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db", "index.db")
	x := cache.NewIndex(cache.OpenDB(path, nil))
	for n := range 400 {
		inputs := []cache.Input{{Label: "n", Value: strings.Repeat("x", 10_000)}}
		must(t, x.Put(host, repo, keyOf(n), cache.Entry{Digest: digestOf(n), VerifiedAt: day(n)}, "composition/edge", inputs))
	}
	before := size(t, path)
	done, err := x.Prune(cache.Keep{Count: 10}, day(400))
	must(t, err)
	if after := size(t, path); after > before/10 || done.Freed != before-after || done.Kept != 10 {
		t.Errorf("%d bytes are %d: %+v", before, after, done)
	}
	if again, err := x.Prune(cache.Keep{Count: 10}, day(400)); err != nil || again.Dropped != 0 || again.Freed != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
}

// While one process prunes, others put and get: nothing that is kept is lost,
// whichever file a writer had opened.
func TestPruneLosesNothingOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db", "index.db")
	warn := func(w string) { t.Error("warning:", w) }
	old := cache.NewIndex(cache.OpenDB(path, warn))
	for n := range 50 {
		putAt(t, old, 1000+n, day(1), fmt.Sprint("composition/old-", n%5))
	}
	var wait sync.WaitGroup
	for process := range 4 {
		x := cache.NewIndex(cache.OpenDB(path, warn))
		wait.Go(func() {
			for i := range 10 {
				putAt(t, x, process*10+i, day(100), fmt.Sprint("composition/", process))
			}
		})
	}
	for range 10 {
		if _, err := old.Prune(cache.Keep{Age: 24 * time.Hour}, day(100)); err != nil {
			t.Error(err)
		}
	}
	wait.Wait()
	x := cache.NewIndex(cache.OpenDB(path, warn))
	for n := range 40 {
		if !has(x, n) {
			t.Errorf("row %d is lost", n)
		}
	}
}

// Whatever is pruned, what is left is right, and the newest are left.
func TestPruneProperty(t *testing.T) {
	top := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(top, "")
		must(t, err)
		x := cache.NewIndex(cache.OpenDB(filepath.Join(dir, "db", "index.db"), func(w string) { rt.Error("warning:", w) }))
		days := rapid.SliceOfN(rapid.IntRange(0, 20), 0, 12).Draw(rt, "days")
		for n, at := range days {
			putAt(t, x, n, day(at), fmt.Sprint("composition/", rapid.IntRange(0, 2).Draw(rt, "target")))
		}
		keep := cache.Keep{Age: time.Duration(rapid.IntRange(0, 20).Draw(rt, "age")) * 24 * time.Hour, Count: rapid.IntRange(0, 6).Draw(rt, "count")}
		done, err := x.Prune(keep, day(20))
		must(t, err)
		kept := 0
		for n, at := range days {
			switch within := keep.Age == 0 || day(20).Sub(day(at)) <= keep.Age; {
			case has(x, n):
				kept++
			case within && (keep.Count == 0 || len(days) <= keep.Count):
				rt.Fatalf("row %d of day %d is dropped by %+v", n, at, keep)
			}
		}
		if kept != done.Kept || kept+done.Dropped != len(days) {
			rt.Fatalf("%d kept of %d: %+v", kept, len(days), done)
		}
	})
}

func TestCompact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db", "files.db")
	db := cache.OpenDB(path, func(w string) { t.Error("warning:", w) })
	if done, err := db.Compact(1<<20, time.Now()); err != nil || done.Freed != 0 {
		t.Errorf("of a file that is not there: %+v, %v", done, err)
	}
	x := cache.NewIndex(db)
	for n := range 100 {
		must(t, x.Put(host, repo, keyOf(n), cache.Entry{Digest: digestOf(n)}, "t", []cache.Input{{Label: "n", Value: strings.Repeat("x", 30_000)}}))
	}
	if done, err := db.Compact(1<<30, time.Now()); err != nil || done.Freed != 0 {
		t.Errorf("of a small file: %+v, %v", done, err)
	}
	if done, err := db.Compact(1<<20, time.Now()); err != nil || done.Freed <= 0 || size(t, path) > 1<<20 {
		t.Errorf("of a file that is too large: %+v, %v; it has %d bytes", done, err, size(t, path))
	}
	must(t, os.WriteFile(path+".new-1", nil, 0o600), os.WriteFile(path+".damaged", nil, 0o600))
	_, err := db.Compact(1<<20, time.Now().Add(48*time.Hour))
	must(t, err)
	for _, left := range []string{path + ".new-1", path + ".damaged"} {
		if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", left, err)
		}
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Size()
}

func TestPruneDropsContentLongUnused(t *testing.T) {
	blobs, dir := openStore(t)
	var digests []string
	for n := range 4 {
		digest, err := blobs.Keep([]byte(strings.Repeat(fmt.Sprint(n), 1000)))
		must(t, err)
		digests = append(digests, digest)
		must(t, blobs.PutLayer(keyOf(n), cache.Layer{Digest: digest, DiffID: digest, Size: 1000}))
		path, err := blobs.Path(digest)
		must(t, err, os.Chtimes(path, day(n), day(n)))
	}
	_, err := blobs.Bytes(digests[0]) // used now
	must(t, err)
	linked, err := blobs.Path(digests[1])
	must(t, err, os.Link(linked, filepath.Join(dir, "image")))

	done, err := blobs.Prune(cache.Keep{Bytes: 2500}, time.Now())
	must(t, err)
	if done.Kept != 2 || done.Dropped != 2 || done.Freed != 1000 {
		t.Errorf("%+v", done) // one is an image's too: that frees nothing
	}
	for n, want := range []bool{true, false, false, true} {
		if _, err := blobs.Layer(keyOf(n)); (err == nil) != want {
			t.Errorf("layer %d: %v, want it there: %t", n, err, want)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "layers")); err != nil || len(left) != 2 {
		t.Errorf("%d layers are known, %v", len(left), err)
	}
	if done, err := blobs.Prune(cache.Keep{Age: time.Nanosecond, Bytes: 1}, time.Now()); err != nil || done.Kept != 2 {
		t.Errorf("what was used just now: %+v, %v", done, err)
	}
}

// stoppingContext ends when it was asked for the nth time whether it has.
type stoppingContext struct {
	context.Context
	stop context.CancelCauseFunc
	left int
	why  error
}

func (c *stoppingContext) Err() error {
	if c.left--; c.left < 0 {
		c.stop(c.why)
	}
	return c.Context.Err()
}

// Whoever stops the reading of much is told what of it was read.
func TestVerifyThatIsStopped(t *testing.T) {
	blobs, dir := openStore(t)
	w, err := blobs.Create()
	must(t, err)
	content := make([]byte, 40<<20)
	_, err = w.Write(content)
	must(t, err, w.Commit(fmt.Sprintf("sha256:%x", sha256.Sum256(content))))
	inner, stop := context.WithCancelCause(t.Context())
	ctx := &stoppingContext{inner, stop, 6, errors.New("stopped")} // four times on the way to the content
	v, err := cache.VerifyContents(ctx, dir)
	if !errors.Is(err, ctx.why) || v.Whole+v.Damaged != 0 || v.Bytes <= 0 || v.Bytes >= int64(len(content)) {
		t.Errorf("%+v, %v, want a part of %d bytes, and why it was stopped", v, err, len(content))
	}
	if v, err := cache.VerifyContents(t.Context(), dir); err != nil || v.Whole != 1 || v.Bytes != int64(len(content)) {
		t.Errorf("once more: %+v, %v", v, err)
	}
}

func TestVerifyFindsAndDropsWhatIsDamaged(t *testing.T) {
	blobs, dir := openStore(t)
	good, err := blobs.Keep([]byte("good"))
	must(t, err)
	bad, err := blobs.Keep([]byte("fine"))
	must(t, err)
	for n, digest := range []string{good, bad, digestOf(7)} {
		must(t, blobs.PutLayer(keyOf(n), cache.Layer{Digest: digest, DiffID: digest, Size: 4}))
	}
	path, err := blobs.Path(bad)
	must(t, err, os.WriteFile(path, []byte("evil"), 0o600), os.WriteFile(filepath.Join(dir, "layers", "x"), nil, 0o600))

	if v, err := blobs.VerifyLayers(); err != nil || v.Whole != 2 || v.Damaged != 2 {
		t.Errorf("layers: %+v, %v", v, err)
	}
	if v, err := cache.VerifyContents(t.Context(), dir); err != nil || v.Whole != 1 || v.Damaged != 1 {
		t.Errorf("contents: %+v, %v", v, err)
	}
	if v, err := cache.VerifyContents(t.Context(), dir); err != nil || v.Whole != 1 || v.Damaged != 0 {
		t.Errorf("contents again: %+v, %v", v, err)
	}
	if v, err := blobs.VerifyLayers(); err != nil || v.Whole != 1 || v.Damaged != 1 {
		t.Errorf("layers again: %+v, %v", v, err)
	}
}

func TestVerifyComparesRowsWithTheirChecksums(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db", "index.db")
	db := cache.OpenDB(path, func(w string) { t.Error("warning:", w) })
	x := cache.NewIndex(db)
	for n := range 20 {
		putAt(t, x, n, day(n), "composition/edge")
	}
	if v, err := db.Verify(); err != nil || v.Whole != 41 || v.Damaged != 0 {
		t.Fatalf("whole: %+v, %v", v, err)
	}
	data, err := os.ReadFile(path)
	must(t, err)
	spoiled := strings.ReplaceAll(string(data), digestOf(3), digestOf(4))
	must(t, os.WriteFile(path, []byte(spoiled), 0o600))
	if v, err := db.Verify(); err != nil || v.Damaged != 1 || v.Whole != 40 {
		t.Errorf("damaged: %+v, %v", v, err)
	}
	if v, err := db.Verify(); err != nil || v.Damaged != 0 || v.Whole != 40 {
		t.Errorf("mended: %+v, %v", v, err)
	}
	var warnings []string
	db = cache.OpenDB(path, func(w string) { warnings = append(warnings, w) })
	must(t, os.WriteFile(path, []byte(strings.Repeat("no database\n", 1000)), 0o600))
	if v, err := db.Verify(); err != nil || v.Damaged != 1 || len(warnings) != 1 {
		t.Errorf("no database: %+v, %v, %q", v, err, warnings)
	}
}

func openStore(t *testing.T) (blobs *cache.Blobs, dir string) {
	t.Helper()
	dir = t.TempDir()
	blobs, err := cache.OpenBlobs(dir)
	must(t, err)
	return blobs, dir
}
