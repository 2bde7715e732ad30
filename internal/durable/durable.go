// Package durable puts files in place whole: whoever reads one sees the old
// content or the new, after a crash and after a power cut too.
package durable

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"toa.io/toa/internal/failpoint"
)

// File is one that is written anew.
type File struct {
	Path string
	// Temp is the pattern (os.CreateTemp) of the file that is written first, in the
	// same file system as Path. A killed process leaves it behind: who sweeps
	// there knows the pattern.
	Temp string
	// Mode is 0600 where it is not stated; the umask does not count.
	Mode fs.FileMode
	// Rename and Renamed are the moments before and after the file gets its name.
	Rename, Renamed failpoint.Name
}

// Write replaces the file by what write writes, or leaves all as it was. The
// content is on the disk when it returns. That the name is too takes a Sync of
// the directory.
func (f File) Write(write func(io.Writer) error) error {
	temp, err := os.CreateTemp(filepath.Dir(f.Temp), filepath.Base(f.Temp))
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // it is gone after the rename
	err = write(temp)
	if err == nil {
		err = errors.Join(temp.Chmod(cmp.Or(f.Mode, 0o600)), temp.Sync())
	}
	if err := errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if err := failpoint.At(f.Rename); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), f.Path); err != nil {
		return err
	}
	return failpoint.At(f.Renamed)
}

// WriteBytes is Write of data.
func (f File) WriteBytes(data []byte) error {
	return f.Write(func(w io.Writer) error { _, err := w.Write(data); return err })
}

// Sync waits until the content of a file, or the names in a directory, are on the
// disk.
func Sync(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
