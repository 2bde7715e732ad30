package cache

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// TryLock locks a file, which is made where it is missing, and dates it now.
// The lock ends with the process, or when the file is closed; who removes the
// file does so before. The error is EWOULDBLOCK where another process has it.
func TryLock(path string) (*os.File, error) {
	for {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		_, err = ignoringEINTR(func() (struct{}, error) {
			return struct{}{}, unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		})
		if err == nil && isAt(file, path) {
			now := time.Now()
			_ = os.Chtimes(path, now, now) // it is taken for unused the sooner
			return file, nil
		}
		_ = file.Close()
		if err != nil {
			return nil, err
		}
		// Who held it has removed the file in the meantime.
	}
}

// isAt tells whether an open file is still the one that path names.
func isAt(file *os.File, path string) bool {
	ours, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(ours, named)
}
