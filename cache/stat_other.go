//go:build unix && !(linux && (amd64 || arm64))

package cache

import "golang.org/x/sys/unix"

// statAt is fstatat(2) on a path that ends in NUL.
func statAt(dir int, path []byte, st *unix.Stat_t, flags int) error {
	return unix.Fstatat(dir, string(path[:len(path)-1]), st, flags)
}
