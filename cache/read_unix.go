package cache

import (
	"fmt"
	"slices"
	"sync"

	"github.com/zeebo/blake3"
	"golang.org/x/sys/unix"
)

// maxSmall bounds files that are read whole: lists of patterns, manifests.
const maxSmall = 8 << 20

// openAt opens a name below a directory for reading. Opening a pipe that was
// swapped in does not wait for a writer.
func openAt(dir int, name string, flags int) (int, error) {
	return ignoringEINTR(func() (int, error) {
		return unix.Openat(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|flags, 0)
	})
}

// buffers are for reading: large enough that a big file is hashed at the speed
// of memory, small enough to stay in the second-level cache.
var buffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// digestOf hashes what can be read from fd, size bytes if it has so many. No
// os.File and no io.Copy: for small files they cost more than the hash.
func digestOf(fd int, size int64) (Key, error) {
	buffer := buffers.Get().(*[256 << 10]byte)
	defer buffers.Put(buffer)
	blake := hashers.Get().(*blake3.Hasher)
	defer hashers.Put(blake)
	blake.Reset()
	for size > 0 {
		n, err := ignoringEINTR(func() (int, error) { return unix.Read(fd, buffer[:min(size, int64(len(buffer)))]) })
		if err != nil {
			return Key{}, err
		}
		if n == 0 {
			break
		}
		_, _ = blake.Write(buffer[:n])
		size -= int64(n)
	}
	var k Key
	blake.Sum(k[:0])
	return k, nil
}

// readSmall reads the rest of fd.
func readSmall(fd int) ([]byte, error) {
	var data []byte
	for {
		data = slices.Grow(data, 4096)
		n, err := ignoringEINTR(func() (int, error) { return unix.Read(fd, data[len(data):cap(data)]) })
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return data, nil
		}
		if data = data[:len(data)+n]; len(data) > maxSmall {
			return nil, fmt.Errorf("larger than %d MiB", maxSmall>>20)
		}
	}
}

// listNames lists a directory in byte order.
func listNames(fd int) ([]string, error) {
	buffer := buffers.Get().(*[256 << 10]byte)
	defer buffers.Put(buffer)
	var names []string
	for {
		n, err := ignoringEINTR(func() (int, error) { return unix.ReadDirent(fd, buffer[:]) })
		if err != nil {
			return nil, err
		}
		if n == 0 {
			slices.Sort(names)
			return names, nil
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
}

func readLink(dir int, name string) (string, error) {
	buffer := make([]byte, unix.PathMax)
	n, err := ignoringEINTR(func() (int, error) { return unix.Readlinkat(dir, name, buffer) })
	if err != nil {
		return "", err
	}
	return string(buffer[:n]), nil
}
