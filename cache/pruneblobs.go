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

// recent is how long after its last use content is never dropped: an image may
// be under way that is made of it.
const recent = time.Hour

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
	stored, err := storedIn(b.contents())
	if err != nil {
		return Pruned{}, fmt.Errorf("prune layer cache: %w", err)
	}
	t := tally{keep: keep, now: now, counts: map[string]int{}}
	var done Pruned
	for _, one := range stored {
		if t.takes("", one.used, one.size) || now.Sub(one.used) < recent {
			done.Kept++
			continue
		}
		if err := os.Remove(one.path); err != nil && !os.IsNotExist(err) {
			return done, fmt.Errorf("prune layer cache: %w", err)
		}
		done.Dropped++
		done.Freed += one.frees
	}
	_, err = b.VerifyLayers()
	return done, err
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
