package cache

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// LockSuffix is of a file beside a thing. Who uses the thing has it locked, and
// writes to it when that begins.
const LockSuffix = ".lock"

// PruneThings drops things below root that were not used for long, or longest:
// files, or directories with all that is in them. Which are things a pattern
// says ("charts/*/*"); Keep.Count is of those in one directory. What somebody
// uses stays, and so does what was used within the hour.
func PruneThings(root, pattern string, keep Keep, now time.Time) (Pruned, error) {
	all, err := thingsIn(root, pattern)
	if err != nil {
		return Pruned{}, fmt.Errorf("prune %s: %w", root, err)
	}
	t := tally{keep: keep, now: now, counts: map[string]int{}}
	var done Pruned
	for _, one := range all {
		if t.takes(filepath.Dir(one.path), one.used, one.size) || recently(one.used, now) {
			done.Kept++
			continue
		}
		dropped, err := one.drop()
		switch {
		case err != nil:
			return done, fmt.Errorf("prune %s: %w", root, err)
		case dropped:
			done.Dropped++
			done.Freed += one.size
		default:
			done.Kept++
		}
	}
	return done, nil
}

// ClearThings drops all things that a pattern matches, but for those in use, and
// says how many these are.
func ClearThings(root, pattern string) (busy int, err error) {
	all, err := thingsIn(root, pattern)
	if err != nil {
		return 0, err
	}
	for _, one := range all {
		dropped, err := one.drop()
		if err != nil {
			return busy, err
		}
		if !dropped {
			busy++
		}
	}
	return busy, nil
}

// thing is a file or a directory that is kept or dropped as a whole.
type thing struct {
	path string
	used time.Time // when the last of its files was written, or its lock
	size int64
}

// thingsIn lists what a pattern matches, the last used first.
func thingsIn(root, pattern string) ([]thing, error) {
	paths, err := fs.Glob(os.DirFS(root), pattern)
	if err != nil {
		return nil, err
	}
	var all []thing
	for _, path := range paths {
		if strings.HasSuffix(path, LockSuffix) {
			continue
		}
		one, err := measure(filepath.Join(root, filepath.FromSlash(path)))
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b thing) int {
		return cmp.Or(b.used.Compare(a.used), strings.Compare(a.path, b.path))
	})
	return all, nil
}

// measure finds out how large a thing is and when it was used. What others delete
// meanwhile does not count.
func measure(path string) (thing, error) {
	one := thing{path: path}
	if info, err := os.Lstat(path + LockSuffix); err == nil {
		one.used = info.ModTime()
	}
	err := walk(path, func(info fs.FileInfo) {
		if info.ModTime().After(one.used) {
			one.used = info.ModTime()
		}
		if !info.IsDir() {
			one.size += taken(info)
		}
	})
	return one, err
}

// drop removes a thing unless somebody uses it.
func (t thing) drop() (dropped bool, err error) {
	if _, err := os.Lstat(t.path + LockSuffix); err == nil {
		lock, err := TryLock(t.path + LockSuffix)
		if err != nil {
			return false, nil // it is in use, or nobody can tell
		}
		defer func() { _ = lock.Close() }()
		defer func() { _ = os.Remove(lock.Name()) }()
	}
	return true, os.RemoveAll(t.path)
}
