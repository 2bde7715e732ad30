// Command openread opens, reads and closes files and does nothing else: the
// floor below any program that hashes them. It makes the system calls itself,
// with one buffer for each of two workers.
//
//	openread LIST    LIST holds paths, one a line
package main

import (
	"bytes"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

const workers = 2

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: openread LIST")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "openread:", err)
		os.Exit(1)
	}
}

func run(list string) error {
	data, err := os.ReadFile(list)
	if err != nil {
		return fmt.Errorf("read list: %w", err)
	}
	paths := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	var group sync.WaitGroup
	failed := make([]error, workers)
	for w := range workers {
		share := paths[len(paths)*w/workers : len(paths)*(w+1)/workers]
		group.Go(func() { failed[w] = readAll(share) })
	}
	group.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

func readAll(paths [][]byte) error {
	buffer := make([]byte, 128<<10)
	for _, path := range paths {
		if err := read(string(path), buffer); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
	return nil
}

func read(path string, buffer []byte) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading
	for {
		n, err := unix.Read(fd, buffer)
		if n <= 0 || err != nil {
			return err
		}
	}
}
