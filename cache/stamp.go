package cache

import (
	"time"

	"golang.org/x/sys/unix"
)

// stamp is what the file system says of a file without reading it. Content
// cannot change under an equal stamp, provided that the stamp was old enough
// when the content was read: ctime cannot be set back from user space, and the
// inode tells a renamed file from the one it replaced.
type stamp struct {
	size, mtime, ctime int64 // times in nanoseconds
	inode              uint64
	mode               uint32 // type and owner's executable bit only
}

const modeMask = unix.S_IFMT | unix.S_IXUSR

func stampOf(st *unix.Stat_t) stamp {
	return stamp{
		size:  st.Size,
		mtime: st.Mtim.Nano(),
		ctime: st.Ctim.Nano(),
		inode: st.Ino,
		mode:  uint32(st.Mode) & modeMask, //nolint:unconvert // narrower on darwin
	}
}

// Granularities of file times: a change within one of them may leave a stamp
// as it was. Whole seconds on both times are a sign of a file system that
// counts in seconds (two on FAT).
const (
	fineGranularity   = 20 * time.Millisecond
	coarseGranularity = 2 * time.Second
)

// settled tells whether a file whose content was read at or after begun can
// be known by this stamp later (git calls the opposite racily clean).
func (s stamp) settled(begun int64) bool {
	granularity := int64(fineGranularity)
	if s.mtime%int64(time.Second) == 0 && s.ctime%int64(time.Second) == 0 {
		granularity = int64(coarseGranularity)
	}
	return max(s.mtime, s.ctime)+granularity <= begun
}
