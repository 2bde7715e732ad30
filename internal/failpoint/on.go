//go:build failpoint

package failpoint

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// Variable of the environment is what fails: see parse.
	Variable = "TOA_FAILPOINTS"
	// TraceVariable names a file that gets a line for each point that is come by.
	TraceVariable = "TOA_FAILPOINTS_TRACE"
)

// Error is what a point returns that was told to fail.
type Error struct{ Name Name }

func (e *Error) Error() string { return "failpoint " + string(e.Name) }

// At is a point: it notes that it was come by and does what the environment
// says of it. Calls overlap.
func At(name Name) error {
	if err := trace(os.Getenv(TraceVariable), name); err != nil {
		return fmt.Errorf("trace failpoint: %w", err)
	}
	return script().at(name)
}

// trace adds a line to a file. Short appended lines stay whole, also those of
// several processes.
func trace(path string, name Name) error {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // whoever tests names it
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, name)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// script is what the process was told. A mistake in it must not look like a run
// that went well.
var script = sync.OnceValue(func() *plan {
	rules, err := parse(os.Getenv(Variable))
	if err != nil {
		panic(Variable + ": " + err.Error())
	}
	return &plan{rules: rules, hits: map[Name]int{}}
})

// plan is rules, and how often each point was come by.
type plan struct {
	rules map[Name][]rule

	mu   sync.Mutex // guards hits
	hits map[Name]int
}

func (p *plan) at(name Name) error {
	p.mu.Lock()
	p.hits[name]++
	hit := p.hits[name]
	p.mu.Unlock()
	for _, r := range p.rules[name] {
		if r.nth == 0 || r.nth == hit {
			return r.act(name)
		}
	}
	return nil
}

func (r rule) act(name Name) error {
	switch r.action {
	case actError:
		return &Error{name}
	case actPanic:
		panic("failpoint " + string(name))
	case actKill:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until it has arrived
	default:
		return await(r.path)
	}
}

// waitLimit is how long a process waits for a file at most: whoever was to make
// it may be dead.
const waitLimit = 2 * time.Minute

// await returns when a file is there.
func await(path string) error {
	for deadline := time.Now().Add(waitLimit); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
	}
	return fmt.Errorf("nobody made %s in %s", path, waitLimit)
}
