// Package bridge asks packages of others what they need of a deployment by
// running their own code in Node. The process is started when a package occurs
// that nothing else knows, and answers are kept, so that most runs start none.
//
// It gets nothing of our environment but where programs are.
package bridge

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"toa.io/toa/extensions"
)

//go:embed bridge.mjs
var program string

// Memo keeps answers. It may forget anything at any time.
type Memo interface {
	// Recall returns what was kept under the key, or nil.
	Recall(key string) []byte
	Keep(key string, answer []byte)
}

// Node is an extensions.Foreign. Calls must not overlap. Close it when done.
type Node struct {
	// Root is the directory of the context.
	Root string
	// Timeout is how long a package may think; zero means half a minute.
	Timeout time.Duration
	// Memo keeps answers by the content of the package and the request; nil
	// keeps none.
	Memo Memo

	process *process
}

var _ extensions.Foreign = (*Node)(nil)

// question is a line that the program reads.
type question struct {
	// Ask is "introduce" or "describe".
	Ask       string `json:"ask"`
	Directory string `json:"directory"`
	Key       string `json:"key,omitempty"`
	extensions.Request
}

// Introduce asks the package. Where it is not installed, the error is
// extensions.ErrUndescribed and nothing is started.
func (n *Node) Introduce(ctx context.Context, reference, from string, annotation json.RawMessage) (extensions.Introduction, error) {
	said, err := n.recalled(ctx, reference, from, question{Ask: "introduce", Request: extensions.Request{Annotation: annotation}})
	if err != nil {
		return extensions.Introduction{}, err
	}
	return said.introduction()
}

// Describe asks the package. Where it is not installed, the error is
// extensions.ErrUndescribed and nothing is started.
func (n *Node) Describe(ctx context.Context, reference, from string, request extensions.Request) (extensions.Declaration, error) {
	said, err := n.recalled(ctx, reference, from, question{Ask: "describe", Request: request})
	if err != nil {
		return extensions.Declaration{}, err
	}
	return said.declaration()
}

// find is where the package is installed, or empty.
func (n *Node) find(name, from string) string {
	for _, place := range extensions.Places(name, from) {
		dir := filepath.Join(n.Root, filepath.FromSlash(place))
		if resolved, err := filepath.EvalSymlinks(dir); err == nil {
			if _, err := os.Stat(filepath.Join(resolved, "package.json")); err == nil {
				return resolved
			}
		}
	}
	return ""
}

// recalled is what the package is known to answer, or answers now.
func (n *Node) recalled(ctx context.Context, reference, from string, q question) (*answer, error) {
	var name string
	name, q.Key, _ = strings.Cut(reference, "#")
	if q.Directory = n.find(name, from); q.Directory == "" {
		return nil, extensions.ErrUndescribed
	}
	if n.Memo == nil {
		line, err := n.ask(ctx, q)
		if err != nil {
			return nil, err
		}
		return decode(line)
	}
	key, err := identity(n.Root, q)
	if err != nil {
		return nil, fmt.Errorf("read the package: %w", err)
	}
	if said, err := decode(n.Memo.Recall(key)); err == nil {
		return said, nil
	}
	line, err := n.ask(ctx, q)
	if err != nil {
		return nil, err
	}
	said, err := decode(line)
	if err == nil {
		n.Memo.Keep(key, line)
	}
	return said, err
}

// ask sends the question and waits for its answer. A process that does not
// answer in time is killed.
func (n *Node) ask(ctx context.Context, q question) ([]byte, error) {
	line, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	if n.process == nil {
		if n.process, err = start(n.Root); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(n.Timeout, 30*time.Second), errSlow)
	defer cancel()
	answer, err := n.process.exchange(ctx, append(line, '\n'))
	if err != nil {
		n.process = nil
		return nil, err
	}
	return answer, nil
}

var errSlow = errors.New("it did not say what it needs in time")

// Close ends the process, if one was started.
func (n *Node) Close() error {
	if n.process != nil {
		n.process.kill()
		n.process = nil
	}
	return nil
}

// process is a running bridge.
type process struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	said    *tail
}

// MissingNodeError says that there is no Node to ask a package with.
type MissingNodeError struct{ Err error }

func (e *MissingNodeError) Error() string {
	return "expected Node.js to be installed, to ask the package what it needs"
}

func (e *MissingNodeError) Unwrap() error { return e.Err }

// Hint says how to do without.
func (e *MissingNodeError) Hint() string {
	return "install Node.js 20 or newer, or put a " + extensions.DeploymentFile + " into the package"
}

// Mistake is true: it is found before anything is touched.
func (*MissingNodeError) Mistake() bool { return true }

func start(root string) (*process, error) {
	path, err := exec.LookPath("node")
	if err != nil {
		return nil, &MissingNodeError{err}
	}
	p := &process{command: exec.Command(path, "--input-type=module", "--eval", program), said: &tail{}} //nolint:noctx // it answers several calls, each with a context of its own, and ends in Close
	p.command.Dir, p.command.Env, p.command.Stderr = root, environment(), p.said
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start node: %w", err)
	}
	return p, nil
}

// environment is what the process may know. Times are those of no place, so
// that answers are the same everywhere.
func environment() []string {
	env := []string{"TZ=UTC", "NO_COLOR=1"}
	for _, name := range []string{"PATH", "SYSTEMROOT", "TMPDIR", "TEMP"} {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// exchange writes a line and reads one. If ctx ends before, the process does too.
func (p *process) exchange(ctx context.Context, line []byte) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() { _ = p.command.Process.Kill() })
	_, err := p.in.Write(line)
	var answer []byte
	if err == nil {
		answer, err = p.out.ReadBytes('\n')
	}
	switch {
	case !stop():
		p.kill()
		return nil, context.Cause(ctx)
	case err != nil:
		p.kill()
		return nil, fmt.Errorf("node ended: %s", cmp.Or(p.said.line(), err.Error()))
	}
	return answer, nil
}

func (p *process) kill() {
	_ = p.in.Close()
	_ = p.command.Process.Kill() // it may have ended already
	_ = p.command.Wait()         // what it ended with says nothing
}

// tail keeps the first of what the process says, for errors.
type tail struct{ bytes.Buffer }

func (t *tail) Write(data []byte) (int, error) {
	const enough = 4 << 10
	t.Buffer.Write(data[:min(len(data), max(0, enough-t.Len()))])
	return len(data), nil
}

// line is the first that names an error.
func (t *tail) line() string {
	for line := range strings.Lines(t.String()) {
		if strings.Contains(line, "Error") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
