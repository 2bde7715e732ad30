package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// command is a child process and all that it starts in turn.
type command struct {
	name string
	args []string
	dir  string
	env  []string
	// line gets each line of output. Calls overlap.
	line func(stream, text string)
}

// pipesLimit is how long output is read on after the child has ended: something
// it left behind may hold the pipes open.
const pipesLimit = 2 * time.Second

// run starts the child in a process group of its own and waits for it. When
// ctx ends, the whole group is killed. Nothing of the group is left when it
// returns.
func (c command) run(ctx context.Context) error {
	path, err := exec.LookPath(c.name)
	if err != nil {
		return &NoCommandError{Name: c.name}
	}
	stdout, stderr := &lines{stream: "stdout", to: c.line}, &lines{stream: "stderr", to: c.line}
	defer stdout.flush()
	defer stderr.flush()
	child := exec.CommandContext(ctx, path, c.args...)
	child.Dir, child.Env = c.dir, c.env
	child.Stdout, child.Stderr = stdout, stderr
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	child.Cancel = func() error { return killGroup(child) }
	child.WaitDelay = pipesLimit
	if err := child.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	err = child.Wait()
	_ = killGroup(child)
	return err
}

// killGroup kills what is left of the child's group.
func killGroup(child *exec.Cmd) error {
	err := syscall.Kill(-child.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// NoCommandError says that a program is not on this machine.
type NoCommandError struct{ Name string }

func (e *NoCommandError) Error() string { return e.Name + " is not on this machine" }

// Hint is how to mend it.
func (e *NoCommandError) Hint() string {
	return "install Node.js 20 or later, which brings npm, and see that it is in PATH"
}

// maxLine bounds a line that is passed on; a longer one comes in pieces.
const maxLine = 64 << 10

// lines cuts what is written to it into lines.
type lines struct {
	stream string
	to     func(stream, text string)
	rest   []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole && len(l.rest) < maxLine {
			return len(p), nil
		}
		l.to(l.stream, string(bytes.TrimSuffix(line, []byte("\r"))))
		l.rest = rest
	}
}

// flush passes on a last line that has no end.
func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.to(l.stream, string(l.rest))
		l.rest = nil
	}
}
