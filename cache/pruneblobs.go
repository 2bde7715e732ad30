package cache

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// use marks content as used now, for Prune.
func (b *Blobs) use(digest string) {
	if path, err := b.Path(digest); err == nil {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // it is kept for a shorter time
	}
}

// Prune drops content that was not used for long, or longest, and what is known
// of layers whose content is gone.
func (b *Blobs) Prune(keep Keep, now time.Time) (Pruned, error) {
	t := tally{keep: keep, now: now, counts: map[string]int{}}
	done, err := pruneContents(b.contents(), now, func(one stored) bool { return t.takes("", one.used, one.size) })
	if err != nil {
		return done, fmt.Errorf("prune layer cache: %w", err)
	}
	_, err = b.VerifyLayers()
	return done, err
}

// PruneUnwanted drops the content of a directory of files by digest that is not
// wanted. What was used within the hour stays: somebody may be about to want it.
func PruneUnwanted(dir string, wanted func(digest string) bool, now time.Time) (Pruned, error) {
	done, err := pruneContents(dir, now, func(one stored) bool { return wanted("sha256:" + filepath.Base(one.path)) })
	if err != nil {
		return done, fmt.Errorf("prune %s: %w", dir, err)
	}
	return done, nil
}

// pruneContents asks of each file, the last used first, whether it is kept.
func pruneContents(dir string, now time.Time, keeps func(stored) bool) (Pruned, error) {
	all, err := storedIn(dir)
	if err != nil {
		return Pruned{}, err
	}
	var done Pruned
	for _, one := range all {
		if keeps(one) || recently(one.used, now) {
			done.Kept++
			continue
		}
		if err := os.Remove(one.path); err != nil && !os.IsNotExist(err) {
			return done, err
		}
		done.Dropped++
		done.Freed += one.frees
	}
	return done, nil
}

// stored is one file of content.
type stored struct {
	path  string
	used  time.Time
	size  int64
	frees int64 // zero where an image on disk is the same file
}

// storedIn lists content, the last used first.
func storedIn(dir string) ([]stored, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	all := make([]stored, 0, len(entries))
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			continue // removed meanwhile, or none of ours
		}
		one := stored{path: path, used: time.Unix(st.Mtim.Unix()), size: st.Size}
		if st.Nlink == 1 {
			one.frees = st.Size
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b stored) int {
		return cmp.Or(b.used.Compare(a.used), strings.Compare(a.path, b.path))
	})
	return all, nil
}
