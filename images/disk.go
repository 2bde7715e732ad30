package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"toa.io/toa/internal/durable"
	"toa.io/toa/internal/failpoint"
)

// link makes path the same file as from, or a copy of it, and waits until it
// is on the disk. What stood there before is replaced.
func link(from, path string) error {
	err := os.Link(from, path)
	if errors.Is(err, os.ErrExist) {
		_ = os.Remove(path)
		err = os.Link(from, path)
	}
	if err == nil || errors.Is(err, os.ErrExist) { // another image's link came between
		return durable.Sync(path)
	}
	data, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = data.Close() }()
	return replace(path, func(w io.Writer) error { _, err := io.Copy(w, data); return err })
}

func writeFile(path string, data []byte) error {
	return replace(path, func(w io.Writer) error { _, err := w.Write(data); return err })
}

// temporary are the names of files that are being written.
const temporary = ".tmp-*"

// replace writes a file of a layout, durably but for its name.
func replace(path string, write func(io.Writer) error) error {
	file := durable.File{
		Path: path, Temp: filepath.Join(filepath.Dir(path), temporary),
		Rename: failpoint.LayoutRename, Renamed: failpoint.LayoutRenamed,
	}
	return file.Write(write)
}

// lockPause is how long to wait before a lock is tried again, lockLimit for
// how long in all: it is held for milliseconds.
const (
	lockPause = 5 * time.Millisecond
	lockLimit = 10 * time.Second
)

// lock takes the lock of a file, across processes.
func lock(ctx context.Context, path string) (release func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, lockLimit, fmt.Errorf("another process keeps %s locked", path))
	defer cancel()
	ticker := time.NewTicker(lockPause)
	defer ticker.Stop()
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-ticker.C:
		case <-limited.Done():
			_ = file.Close()
			return nil, context.Cause(limited)
		}
	}
}
