package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/internal/durable"
	"toa.io/toa/internal/failpoint"
)

// abandoned is the age at which a temporary file has no process any more.
const abandoned = 24 * time.Hour

// replace writes a file that a user has named, at once: whoever reads it sees the
// old one or the new one. A link goes on leading to it. What is no file, such as
// a pipe or /dev/stdout, is written to. What runs left beside it that were killed
// just here, it takes away.
func replace(path string, mode os.FileMode, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return writeTo(path, write)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	dir, pattern := filepath.Dir(path), "."+filepath.Base(path)+".toa-*"
	_, _ = cache.PruneThings(dir, pattern, cache.Keep{Age: abandoned}, time.Now())
	file := durable.File{
		Path: path, Temp: filepath.Join(dir, pattern), Mode: mode,
		Rename: failpoint.FileRename, Renamed: failpoint.FileRenamed,
	}
	return file.Write(write)
}

func replaceBytes(path string, mode os.FileMode, data []byte) error {
	return replace(path, mode, func(w io.Writer) error { _, err := w.Write(data); return err })
}

func writeTo(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
