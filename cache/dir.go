package cache

import (
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// Dir is the directory of a tree while its files are copied. What is in it is
// reached by single names that are never followed, as when it was hashed: a link
// that is swapped in leads nowhere. Its calls must not overlap.
type Dir struct {
	fd int
	// inner is the directory called sub below it, which was read last: files come
	// in the order of directories.
	sub   string
	inner int
}

// OpenDir opens a directory, through links. The caller closes it.
func OpenDir(path string) (*Dir, error) {
	fd, err := openAt(unix.AT_FDCWD, path, unix.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &Dir{fd: fd}, nil
}

// Close releases the directory. It never fails: nothing was written.
func (d *Dir) Close() {
	d.leave()
	_ = unix.Close(d.fd)
}

// open opens what is at a slash path, whatever it is. The caller closes it.
func (d *Dir) open(path string) (int, error) {
	if !fs.ValidPath(path) {
		return 0, fmt.Errorf("it is no path below a directory: %w", unix.EINVAL)
	}
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 {
		return openAt(d.fd, path, unix.O_NOFOLLOW)
	}
	if err := d.enter(path[:slash]); err != nil {
		return 0, err
	}
	return openAt(d.inner, path[slash+1:], unix.O_NOFOLLOW)
}

func (d *Dir) enter(sub string) error {
	if sub == d.sub {
		return nil
	}
	d.leave()
	at := d.fd
	for name := range strings.SplitSeq(sub, "/") {
		next, err := openAt(at, name, unix.O_DIRECTORY|unix.O_NOFOLLOW)
		if at != d.fd {
			_ = unix.Close(at)
		}
		if err != nil {
			return err
		}
		at = next
	}
	d.sub, d.inner = sub, at
	return nil
}

func (d *Dir) leave() {
	if d.sub != "" {
		_ = unix.Close(d.inner)
		d.sub = ""
	}
}
