package cluster

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// A process mark names a process for good: the boot of its kernel, its PID
// namespace, its number and when it began. Two that share the first two see
// each other's processes, so that the death of one is a fact to the other,
// and nobody has to wait for a lease to run out.

// ownMark is the mark of this process, or empty where the system does not tell.
func ownMark() string {
	space := pidSpace()
	began := beginning(os.Getpid())
	if space == "" || began == "" {
		return ""
	}
	return fmt.Sprintf("%s %d %s", space, os.Getpid(), began)
}

// surelyDead tells whether the process of a mark has ended. False may also mean
// that it cannot be seen from here.
func surelyDead(mark string) bool {
	space, rest, _ := strings.Cut(mark, " ")
	number, began, _ := strings.Cut(rest, " ")
	pid, err := strconv.Atoi(number)
	if err != nil || space == "" || space != pidSpace() {
		return false
	}
	return beginning(pid) != began
}

// pidSpace names the PID namespace of this process, or is empty where the
// system does not tell.
func pidSpace() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "/" + namespace
}

// beginning is when a living process began, in ticks since boot (field 22 of
// /proc/PID/stat, proc_pid_stat(5)); empty if it does not live. A zombie does not.
func beginning(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The second field is the program's name in parentheses, which may hold anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}
