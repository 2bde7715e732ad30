//go:build linux && (amd64 || arm64)

package cache

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// statAt is fstatat(2) on a path that ends in NUL. Called directly because a
// no-op of a large workspace is little else: unix.Fstatat copies every path.
func statAt(dir int, path []byte, st *unix.Stat_t, flags int) error {
	for {
		_, _, errno := unix.Syscall6(sysFstatat, uintptr(dir), uintptr(unsafe.Pointer(&path[0])), uintptr(unsafe.Pointer(st)), uintptr(flags), 0, 0) //nolint:gosec // the kernel reads a NUL-terminated path and fills st
		if errno == 0 {
			return nil
		}
		if errno != unix.EINTR {
			return errno
		}
	}
}
