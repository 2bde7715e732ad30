package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

func init() { programs["limited"] = limited }

// limited runs a command line in which no file can grow beyond so many bytes, as
// on a disk that is full: writing fails with EFBIG.
func limited() {
	err := limitFiles(os.Args[1])
	if err == nil {
		var path string
		if path, err = exec.LookPath(os.Args[2]); err == nil {
			err = unix.Exec(path, os.Args[2:], os.Environ())
		}
	}
	fmt.Fprintln(os.Stderr, "limited:", err)
	os.Exit(1)
}

func limitFiles(bytes string) error {
	limit, err := strconv.ParseUint(bytes, 10, 64)
	if err != nil {
		return err
	}
	// The kernel sends SIGXFSZ as well, which ends a program of Go that does not
	// ask for it, unless the thread that executes it has it blocked.
	runtime.LockOSThread()
	blocked := unix.Sigset_t{}
	blocked.Val[0] = 1 << (uint(unix.SIGXFSZ) - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &blocked, nil); err != nil {
		return err
	}
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit})
}
