package cache

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
)

// blockSize is the unit of st_blocks, whatever the blocks of the file system are
// (stat(2)).
const blockSize = 512

// Usage is what a directory takes of the disk.
type Usage struct {
	Files int
	// Bytes are those of all files, without their holes: a bbolt file is made of
	// the size that it may grow to.
	Bytes int64
}

// Measure looks at all files below dir. What others delete meanwhile does not
// count, and a directory that is not there is empty.
func Measure(dir string) (Usage, error) {
	var u Usage
	err := walk(dir, func(info fs.FileInfo) {
		if !info.IsDir() {
			u.Files++
			u.Bytes += taken(info)
		}
	})
	return u, err
}

// walk visits dir and all below it that stays for as long as that takes.
func walk(dir string, visit func(fs.FileInfo)) error {
	return filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return ignoringGone(err)
		}
		info, err := entry.Info()
		if err != nil {
			return ignoringGone(err)
		}
		visit(info)
		return nil
	})
}

func ignoringGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// taken is a file's size without its holes, in bytes.
func taken(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return min(info.Size(), st.Blocks*blockSize)
	}
	return info.Size()
}
