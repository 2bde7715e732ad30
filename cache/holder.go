package cache

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// holderOf says which process has a file locked, as far as the system tells.
func holderOf(path string) string {
	const unknown = "another process"
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return unknown
	}
	locks, err := os.Open("/proc/locks") // proc_locks(5)
	if err != nil {
		return unknown
	}
	defer func() { _ = locks.Close() }()
	device := uint64(st.Dev) //nolint:unconvert // it is of another type elsewhere
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(device), unix.Minor(device), st.Ino)
	for lines := bufio.NewScanner(locks); lines.Scan(); {
		// 1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF
		fields := strings.Fields(lines.Text())
		if len(fields) > 5 && fields[1] == "FLOCK" && fields[5] == file && fields[4] != "0" {
			return "process " + fields[4]
		}
	}
	return unknown
}
