package cache

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets of getdents64(2)'s records: inode, offset, length, type, name.
const (
	direntLength = unsafe.Offsetof(unix.Dirent{}.Reclen)
	direntType   = unsafe.Offsetof(unix.Dirent{}.Type)
	direntName   = unsafe.Offsetof(unix.Dirent{}.Name)
)

// appendNames reads the records of a listing. Their types save asking for
// each: a quarter of the calls of a cold scan.
func appendNames(names []name, records []byte) []name {
	for len(records) > int(direntName) {
		length := binary.NativeEndian.Uint16(records[direntLength:])
		record := records[:length]
		records = records[length:]
		text, _, _ := bytes.Cut(record[direntName:], []byte{0})
		if string(text) == "." || string(text) == ".." {
			continue
		}
		// DT_REG and the like are the type bits of a mode, shifted.
		names = append(names, name{text: string(text), kind: uint32(record[direntType]) << 12})
	}
	return names
}
