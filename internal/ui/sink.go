// Package ui shows a run: it turns the orchestrator's events into lines, a live
// display, JSON, a Markdown report or a trace, and prints plans and graphs. It
// decides nothing and knows nothing of registries, builders or clusters.
//
// Users may rely on this: no control character of a name, a log or an error
// reaches a terminal; nothing but a terminal gets escape sequences; a sink that
// cannot write any more never stops a run, it says so when it is closed.
package ui

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"toa.io/toa/orchestrator"
)

// Sink takes the events of one run. Calls of Observe may overlap. Events after
// the summary are dropped.
type Sink interface {
	Observe(event orchestrator.Event)
	// Close ends the output, gives the terminal back and returns the first
	// error of writing. It may be called more than once.
	Close() error
}

// Modes are the values of --output.
var Modes = []string{"auto", "tty", "plain", "json"}

// ModeError is an unknown value of --output.
type ModeError struct{ Mode string }

func (e *ModeError) Error() string { return fmt.Sprintf("unknown output %q", e.Mode) }

// Hint lists the modes there are.
func (e *ModeError) Hint() string { return "use " + alternatives(Modes) }

// Mistake is true: it is found before anything is touched.
func (*ModeError) Mistake() bool { return true }

// New makes the sink of a mode. Results (references, JSON) go to stdout, what
// happens meanwhile goes to stderr. Without a terminal at stderr, "tty" is
// "plain"; so is "auto" in CI and where TERM is "dumb". env reads the
// environment: TERM, CI and NO_COLOR.
func New(mode string, stdout, stderr io.Writer, env func(string) string) (Sink, error) {
	terminal := isTerminal(stderr)
	switch mode {
	case "auto":
		terminal = terminal && env("TERM") != "dumb" && !inCI(env)
	case "tty":
	case "plain":
		terminal = false
	case "json":
		return newEvents(stdout), nil
	default:
		return nil, &ModeError{Mode: mode}
	}
	if !terminal {
		return newPlain(stdout, stderr), nil
	}
	if isTerminal(stdout) {
		stdout = io.Discard // the references are for scripts; a person has the summary
	}
	screen := newScreen(stderr, sizeOf(stderr.(*os.File)), env("NO_COLOR") == "")
	return newLive(stdout, screen), nil
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func inCI(env func(string) string) bool {
	ci := env("CI")
	return ci != "" && ci != "false" && ci != "0"
}

// sizeOf asks a terminal for its size each time, so that a resize needs no signal.
func sizeOf(terminal *os.File) func() (width, height int) {
	return func() (int, int) {
		width, height, err := term.GetSize(int(terminal.Fd()))
		if err != nil || width < 1 || height < 1 {
			return 80, 24
		}
		return width, height
	}
}

// Tee hands every event to all sinks, in order, and closes all of them.
func Tee(sinks ...Sink) Sink { return tee(sinks) }

type tee []Sink

func (t tee) Observe(event orchestrator.Event) {
	for _, sink := range t {
		sink.Observe(event)
	}
}

func (t tee) Close() error {
	var errs []error
	for _, sink := range t {
		errs = append(errs, sink.Close())
	}
	return errors.Join(errs...)
}

// output writes until the first error, which it keeps: what cannot be shown
// must not stop what is being done.
type output struct {
	w   io.Writer
	err error
}

func (o *output) write(text string) {
	if o.err == nil && text != "" {
		_, o.err = io.WriteString(o.w, text)
	}
}

func (o *output) printf(format string, args ...any) { o.write(fmt.Sprintf(format, args...)) }
