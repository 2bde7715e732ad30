package cache

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// ChangedError says that a file is no longer what was hashed.
type ChangedError struct {
	// Path is as in File.Path.
	Path string
	// Now says what it has become.
	Now string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%q changed while it was copied: %s", e.Path, e.Now)
}

// Hint is how to mend it.
func (e *ChangedError) Hint() string {
	return "run again when nothing writes to the workspace, or ignore the file"
}

// CopyTo writes the bytes of a regular file to w: exactly those that were
// hashed, or it returns a *ChangedError. Dir is the directory of the file's
// tree; it may be nil for generated files. An error comes after some bytes were
// written: what w made of them is then worthless.
func (f File) CopyTo(w io.Writer, dir *Dir) error {
	if f.Content != nil {
		_, err := w.Write(f.Content)
		return err
	}
	fd, err := dir.open(f.Path)
	if err != nil {
		return f.openError(err)
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("read %q: %w", f.Path, err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return f.changed("it is no regular file")
	case st.Size != f.Size:
		return f.changed("its size is another")
	}
	return f.stream(w, fd)
}

func (f File) openError(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		return f.changed("it is gone")
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return f.changed("it, or a directory that it was in, is none any more")
	}
	return fmt.Errorf("read %q: %w", f.Path, err)
}

func (f File) changed(now string) error { return &ChangedError{Path: f.Path, Now: now} }

// stream copies and hashes f.Size bytes, which archives have announced. What
// comes after them is nobody's: these are the ones that were hashed.
func (f File) stream(w io.Writer, fd int) error {
	d := newDigester()
	defer d.release()
	d.hasher.reset(f.Size)
	for left := f.Size; left > 0; {
		n, err := ignoringEINTR(func() (int, error) { return unix.Read(fd, d.buffer[:min(left, int64(len(d.buffer)))]) })
		if err != nil {
			return fmt.Errorf("read %q: %w", f.Path, err)
		}
		if n == 0 {
			return f.changed("it ends early")
		}
		left -= int64(n)
		_, _ = d.hasher.Write(d.buffer[:n])
		if _, err := w.Write(d.buffer[:n]); err != nil {
			return err
		}
	}
	if d.hasher.sum() != f.Digest {
		return f.changed("its content is another")
	}
	return nil
}

// FileAt describes a file as it is on disk now: what CopyTo will then insist
// on. It reads and hashes it. Anything but a regular file or a link is an error.
func FileAt(root *os.Root, path string) (File, error) {
	info, err := root.Lstat(path)
	if err != nil {
		return File{}, err
	}
	f := File{Path: path, Size: info.Size()}
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		f.Kind = Symlink
		f.Link, err = root.Readlink(path)
		f.Size = int64(len(f.Link))
		return f, err
	case !info.Mode().IsRegular():
		return File{}, fmt.Errorf("%q is neither a file nor a link", path)
	}
	f.Exec = info.Mode()&unix.S_IXUSR != 0
	file, err := root.Open(path)
	if err != nil {
		return File{}, err
	}
	defer func() { _ = file.Close() }()
	h := hashers.Get().(*contentHasher)
	defer hashers.Put(h)
	h.reset(f.Size)
	if _, err := io.Copy(h, file); err != nil {
		return File{}, fmt.Errorf("read %q: %w", path, err)
	}
	f.Digest = h.sum()
	return f, nil
}
