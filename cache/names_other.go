//go:build unix && !linux

package cache

import "golang.org/x/sys/unix"

// appendNames reads the records of a listing.
func appendNames(names []name, records []byte) []name {
	_, _, texts := unix.ParseDirent(records, -1, nil)
	for _, text := range texts {
		names = append(names, name{text: text})
	}
	return names
}
