package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// prompt asks for secrets, one line each. What is typed on a terminal is not
// shown.
type prompt struct {
	out      io.Writer
	lines    *bufio.Reader
	terminal *os.File // nil: the input is none
}

func newPrompt(stdio IO) *prompt {
	p := &prompt{out: stdio.Err, lines: bufio.NewReader(stdio.In)}
	if file, ok := stdio.In.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.terminal = file
	}
	return p
}

// ask returns what was typed, which may be nothing.
func (p *prompt) ask(ctx context.Context, question string) (string, error) {
	fmt.Fprint(p.out, question+": ")
	line, err := p.wait(ctx)
	fmt.Fprintln(p.out) // the end of the line that was typed is not shown either
	if errors.Is(err, io.EOF) {
		err = errors.New("the input ended, expected a line")
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", question, err)
	}
	return line, nil
}

// wait reads until the line ends or the context does. A read of standard input
// cannot be called off: the one that is left over ends with the process.
func (p *prompt) wait(ctx context.Context) (string, error) {
	restore := p.keep()
	defer restore()
	type result struct {
		line string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		line, err := p.read()
		done <- result{line, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// keep returns what makes the terminal show again what is typed.
func (p *prompt) keep() (restore func()) {
	if p.terminal == nil {
		return func() {}
	}
	state, err := term.GetState(int(p.terminal.Fd()))
	if err != nil {
		return func() {}
	}
	return func() { _ = term.Restore(int(p.terminal.Fd()), state) }
}

func (p *prompt) read() (string, error) {
	if p.terminal != nil {
		line, err := term.ReadPassword(int(p.terminal.Fd()))
		return string(line), err
	}
	line, err := p.lines.ReadString('\n')
	if errors.Is(err, io.EOF) && line != "" {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}
