package release

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"toa.io/toa/orchestrator"
)

// SettleLimit is how long a stopped release may take to leave the cluster in a
// settled state. A child that takes longer is killed, and the next run settles
// what it left.
const SettleLimit = 90 * time.Second

// WorkerCommand is the hidden command that the child runs.
const WorkerCommand = "release-worker"

const (
	// pipesLimit is how long output is read on after the child has ended.
	pipesLimit = 2 * time.Second
	// maxSaid is how much of the child's stderr is kept for an error.
	maxSaid = 4 << 10
)

// Worker makes releases in a child process, because Helm's SDK cannot be
// stopped: the child can.
type Worker struct {
	// Command starts the child; nil means this binary's own hidden command.
	Command []string
	Observe orchestrator.Observe

	// limit is SettleLimit where it is zero.
	limit time.Duration
}

// Run feeds the order to a child and returns when the child has ended: the
// release has landed, or it is settled as the error says, a *Failure. When ctx
// ends, the child is asked to stop and has SettleLimit to settle; if this
// process dies, the child notices and does the same.
func (w Worker) Run(ctx context.Context, order Order) (orchestrator.Release, error) {
	line, err := json.Marshal(order)
	if err != nil {
		return orchestrator.Release{}, fmt.Errorf("write order: %w", err)
	}
	child, err := w.start()
	if err != nil {
		return orchestrator.Release{}, fmt.Errorf("start release: %w", err)
	}
	ended, guarded := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(guarded)
		child.guard(ctx, ended, cmp.Or(w.limit, SettleLimit))
	}()
	// A child that ends before it has read the order says why on its own.
	_, _ = child.stdin.Write(append(line, '\n'))
	said, broken := w.listen(child.stdout)
	err = child.Wait()
	close(ended)
	<-guarded
	return child.outcome(said, errors.Join(err, broken))
}

// said is what a child has said.
type said struct {
	result   *orchestrator.Release
	failure  *Failure
	evidence []string
}

// listen passes on what the child says until it says no more.
func (w Worker) listen(stdout io.Reader) (all said, err error) {
	messages := json.NewDecoder(stdout)
	for {
		var m Message
		if err := messages.Decode(&m); err != nil {
			_, _ = io.Copy(io.Discard, stdout) // or the child would wait for its reader
			if errors.Is(err, io.EOF) {
				return all, nil
			}
			return all, err
		}
		switch {
		case m.Result != nil:
			all.result = m.Result
		case m.Failure != nil:
			all.failure = m.Failure
		default:
			all.evidence = append(all.evidence, m.Evidence...)
			w.pass(m)
		}
	}
}

// pass makes events of a message.
func (w Worker) pass(m Message) {
	if w.Observe == nil {
		return
	}
	if m.Notice != "" {
		w.Observe(orchestrator.NoticeEvent{Text: m.Notice})
	}
	for _, line := range m.Evidence {
		w.Observe(orchestrator.NoticeEvent{Text: line})
	}
	if m.Rollout != nil {
		w.Observe(orchestrator.RolloutEvent{Workloads: m.Rollout})
	}
}

// worker is a child that was started.
type worker struct {
	*exec.Cmd
	stdin  io.WriteCloser
	stdout io.Reader
	stderr tail
}

// start starts the child in a process group of its own: the terminal's
// interrupt is for its parent, which passes it on.
func (w Worker) start() (*worker, error) {
	command := w.Command
	if command == nil {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command = []string{self, WorkerCommand}
	}
	//nolint:noctx // a context would kill it, and it has to settle
	child := &worker{Cmd: exec.Command(command[0], command[1:]...)}
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	child.WaitDelay = pipesLimit
	child.Stderr = &child.stderr
	var err, err2 error
	child.stdin, err = child.StdinPipe()
	child.stdout, err2 = child.StdoutPipe()
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	err = child.Start()
	return child, err
}

// guard asks the child, and only it, to settle when ctx ends: what it has
// started, such as a program that fetches credentials, is needed for that.
func (c *worker) guard(ctx context.Context, ended <-chan struct{}, limit time.Duration) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		<-ended
	}
}

// outcome is what a child that has ended leaves: its own word if it gave one.
func (c *worker) outcome(said said, err error) (orchestrator.Release, error) {
	switch {
	case said.failure != nil:
		said.failure.Evidence = append(said.evidence, said.failure.Evidence...)
		return orchestrator.Release{}, said.failure
	case said.result != nil:
		return *said.result, nil
	case err == nil:
		err = errors.New("it did not say how the release ended")
	}
	return orchestrator.Release{}, &Failure{
		Message:  strings.TrimSpace(fmt.Sprintf("the process that makes the release ended: %v\n%s", err, c.stderr.kept)),
		Advice:   "run the same again: it finds what is left and goes on from there",
		Settled:  "not settled",
		Evidence: said.evidence,
	}
}

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-maxSaid):]
	return len(p), nil
}
