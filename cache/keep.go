package cache

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Recent is how long after its last use nothing is dropped: something may be
// under way that is made of it.
const Recent = time.Hour

// recently tells whether something was used within Recent. A time that is not
// past is no such sign: a clock was wrong.
func recently(used, now time.Time) bool { return now.Sub(used).Abs() < Recent }

// Keep bounds what is kept; what goes first is what is oldest. A field that is
// zero bounds nothing.
type Keep struct {
	// Age is since an image was verified, or a blob used.
	Age time.Duration
	// Count is of the images of one repository.
	Count int
	// Bytes is of all that is kept.
	Bytes int64
}

// Pruned is what was dropped and what is left.
type Pruned struct {
	Dropped, Kept int
	// Freed is in bytes.
	Freed int64
}

// tally takes things, the newest first, and tells of each whether it is kept.
type tally struct {
	keep   Keep
	now    time.Time
	bytes  int64
	counts map[string]int
}

func (t *tally) takes(family string, at time.Time, size int64) bool {
	t.counts[family]++
	return (t.keep.Age == 0 || t.now.Sub(at) <= t.keep.Age) &&
		(t.keep.Count == 0 || t.counts[family] <= t.keep.Count) &&
		t.fits(size)
}

// fits counts bytes; what does not fit leaves its place to what comes after.
func (t *tally) fits(size int64) bool {
	if t.keep.Bytes > 0 && t.bytes+size > t.keep.Bytes {
		return false
	}
	t.bytes += size
	return true
}

// sweepBeside removes what killed processes left beside a database, and
// databases that were set aside as damaged.
func sweepBeside(path string, now time.Time) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	base := filepath.Base(path)
	for _, entry := range entries {
		rest, ours := strings.CutPrefix(entry.Name(), base)
		if !ours || rest != damagedSuffix && !strings.HasPrefix(rest, newInfix) {
			continue
		}
		if info, err := entry.Info(); err == nil && now.Sub(info.ModTime()) > abandoned {
			_ = os.Remove(filepath.Join(filepath.Dir(path), entry.Name()))
		}
	}
}
