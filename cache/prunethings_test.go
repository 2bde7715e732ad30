package cache_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"toa.io/toa/cache"
)

// thing makes a directory with a file of so many bytes, last used on a day.
func thing(t *testing.T, root, path string, size, used int) {
	t.Helper()
	dir := filepath.Join(root, path)
	file := filepath.Join(dir, "file")
	must(t, os.MkdirAll(dir, 0o700), os.WriteFile(file, make([]byte, size), 0o600),
		os.Chtimes(file, day(used), day(used)), os.Chtimes(dir, day(used), day(used)))
}

func TestPruneThings(t *testing.T) {
	tests := map[string]struct {
		keep cache.Keep
		now  time.Time
		want []string
	}{
		"nothing bounded":       {cache.Keep{}, day(9), []string{"a/1", "a/2", "a/3", "b/4"}},
		"by age":                {cache.Keep{Age: 2 * 24 * time.Hour}, day(5), []string{"a/3", "b/4"}},
		"by count, in each":     {cache.Keep{Count: 1}, day(9), []string{"a/3", "b/4"}},
		"by size":               {cache.Keep{Bytes: 250}, day(9), []string{"a/3", "b/4"}},
		"used within the hour":  {cache.Keep{Bytes: 1}, day(4).Add(59 * time.Minute), []string{"b/4"}},
		"everything is too old": {cache.Keep{Age: time.Hour}, day(9), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "[odd] name") // no pattern
			for n, path := range []string{"a/1", "a/2", "a/3", "b/4"} {
				thing(t, root, path, 100, n+1)
			}
			done, err := cache.PruneThings(root, "*/*", test.keep, test.now)
			must(t, err)
			if got := left(t, root, "*/*"); !slices.Equal(got, test.want) {
				t.Errorf("left %q, want %q", got, test.want)
			}
			dropped := 4 - len(test.want)
			if want := (cache.Pruned{Dropped: dropped, Kept: len(test.want), Freed: int64(100 * dropped)}); done != want {
				t.Errorf("%+v, want %+v", done, want)
			}
		})
	}
	if done, err := cache.PruneThings(filepath.Join(t.TempDir(), "none"), "*", cache.Keep{Count: 1}, day(9)); err != nil || done != (cache.Pruned{}) {
		t.Errorf("of a directory that is not there: %+v, %v", done, err)
	}
}

func left(t *testing.T, root, pattern string) []string {
	t.Helper()
	found, err := fs.Glob(os.DirFS(root), pattern)
	must(t, err)
	return slices.DeleteFunc(found, func(path string) bool { return strings.HasSuffix(path, cache.LockSuffix) })
}

// A thing that is locked is in use, however old it looks; one that was locked
// lately was used lately.
func TestPruneThingsLeavesWhatIsUsed(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"busy", "lately", "unused", "unlocked"} {
		thing(t, root, name, 100, 1)
	}
	for _, name := range []string{"busy", "unused"} {
		lock, err := cache.TryLock(filepath.Join(root, name+cache.LockSuffix))
		must(t, err, os.Chtimes(lock.Name(), day(1), day(1)))
		if name == "busy" {
			t.Cleanup(func() { _ = lock.Close() })
		} else {
			must(t, lock.Close())
		}
	}
	lock, err := cache.TryLock(filepath.Join(root, "lately"+cache.LockSuffix))
	must(t, err, lock.Close())
	done, err := cache.PruneThings(root, "*", cache.Keep{Age: 24 * time.Hour}, time.Now())
	must(t, err)
	if got := left(t, root, "*"); fmt.Sprint(got) != "[busy lately]" || done.Dropped != 2 || done.Kept != 2 {
		t.Errorf("left %q: %+v", got, done)
	}
	if _, err := os.Stat(filepath.Join(root, "unused"+cache.LockSuffix)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock of what was dropped: %v", err)
	}
	if busy, err := cache.ClearThings(root, "*"); err != nil || busy != 1 {
		t.Errorf("ClearThings: %d, %v", busy, err)
	}
	if got := left(t, root, "*"); fmt.Sprint(got) != "[busy]" {
		t.Errorf("left after clearing: %q", got)
	}
}

func TestClaimsOfTheDeadAreSwept(t *testing.T) {
	claims := cache.Claims{Dir: filepath.Join(t.TempDir(), "claims")}
	must(t, claims.Sweep(time.Now())) // there is none yet
	alive, _, err := claims.Take(t.Context(), keyOf(1), nil)
	must(t, err, os.WriteFile(filepath.Join(claims.Dir, keyOf(2).Tag()), nil, 0o600))
	defer alive()
	for _, test := range []struct {
		now  time.Time
		want int
	}{{time.Now(), 2}, {time.Now().Add(48 * time.Hour), 1}} {
		must(t, claims.Sweep(test.now))
		if got := left(t, claims.Dir, "*"); len(got) != test.want {
			t.Errorf("left at %s: %v, want %d", test.now, got, test.want)
		}
	}
}
