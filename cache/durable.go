package cache

import (
	"os"
	"path/filepath"

	"toa.io/toa/internal/failpoint"
)

// writeDurably makes path hold data, whole and for good, or not at all. Until
// then it is a file of the temporary pattern, which sweepBeside knows.
func writeDurably(path, pattern string, data []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(pattern), filepath.Base(pattern))
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // it is gone after the rename
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Sync()
	}
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = failpoint.At(failpoint.SpoolRename)
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err == nil {
		err = failpoint.At(failpoint.SpoolRenamed)
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes renames within a directory outlast a power cut.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	err = dir.Sync()
	if closed := dir.Close(); err == nil {
		err = closed
	}
	return err
}
