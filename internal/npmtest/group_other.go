//go:build !linux

package npmtest

import "syscall"

// group keeps the registry and its children together.
func group() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
