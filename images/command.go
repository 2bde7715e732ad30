package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// Command is a child process and all that it starts in turn.
type Command struct {
	Name string
	Args []string
	Dir  string
	Env  []string
	// Stdin is what it reads; nil means nothing.
	Stdin io.Reader
	// Stdout gets its output as it comes; nil means Line gets it.
	Stdout io.Writer
	// Line gets each line of output, with "stdout" or "stderr". Calls overlap.
	Line func(stream, text string)
	// Fix is how to get the program where it is missing.
	Fix string
}

// pipesLimit is how long output is read on after the child has ended: something
// it left behind may hold the pipes open.
const pipesLimit = 2 * time.Second

// Run starts the child in a process group of its own and waits for it. When
// ctx ends, the whole group is killed. Nothing of the group is left when it
// returns.
func (c Command) Run(ctx context.Context) error {
	path, err := exec.LookPath(c.Name)
	if err != nil {
		return &NoCommandError{Name: c.Name, Fix: c.Fix}
	}
	stdout, stderr := &lines{stream: "stdout", to: c.Line}, &lines{stream: "stderr", to: c.Line}
	defer stdout.flush()
	defer stderr.flush()
	child := exec.CommandContext(ctx, path, c.Args...)
	child.Dir, child.Env, child.Stdin = c.Dir, c.Env, c.Stdin
	child.Stdout, child.Stderr = stdout, stderr
	if c.Stdout != nil {
		child.Stdout = c.Stdout
	}
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	child.Cancel = func() error { return killGroup(child) }
	child.WaitDelay = pipesLimit
	if err := child.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.Name, err)
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
type NoCommandError struct{ Name, Fix string }

func (e *NoCommandError) Error() string { return e.Name + " is not on this machine" }

// Hint is how to mend it.
func (e *NoCommandError) Hint() string { return e.Fix }

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
