package cache

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

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

// digester hashes one file after another. Taking one costs more than hashing a
// small file.
type digester struct {
	buffer *[256 << 10]byte
	hasher *contentHasher
}

func newDigester() digester {
	return digester{buffer: buffers.Get().(*[256 << 10]byte), hasher: hashers.Get().(*contentHasher)}
}

func (d digester) release() {
	buffers.Put(d.buffer)
	hashers.Put(d.hasher)
}

// digest hashes what can be read from fd, size bytes if it has so many. No
// os.File and no io.Copy: for small files they cost more than the hash.
func (d digester) digest(fd int, size int64) (Key, error) {
	d.hasher.reset(size)
	for size > 0 {
		n, err := unix.Read(fd, d.buffer[:min(size, int64(len(d.buffer)))])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return Key{}, err
		}
		if n == 0 {
			break
		}
		_, _ = d.hasher.Write(d.buffer[:n])
		size -= int64(n)
	}
	return d.hasher.sum(), nil
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

// name is an entry of a directory. Kind is the file type that the listing
// states (unix.S_IFMT bits), or zero where it does not.
type name struct {
	text string
	kind uint32
}

// list lists a directory in byte order.
func list(fd int) ([]name, error) {
	buffer := buffers.Get().(*[256 << 10]byte)
	defer buffers.Put(buffer)
	var names []name
	for {
		n, err := ignoringEINTR(func() (int, error) { return unix.ReadDirent(fd, buffer[:]) })
		if err != nil {
			return nil, err
		}
		if n == 0 {
			slices.SortFunc(names, func(a, b name) int { return strings.Compare(a.text, b.text) })
			return names, nil
		}
		names = appendNames(names, buffer[:n])
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
