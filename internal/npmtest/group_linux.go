package npmtest

import "syscall"

// group keeps the registry and its children together, and ends them with the
// tests however those end.
func group() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
