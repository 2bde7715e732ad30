package kubetest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// patience is how long the control plane may take for anything: what takes
// seconds on a free machine takes longer where all tests run at once.
const patience = 3 * time.Minute

// ready is the first line that the control plane prints.
type ready struct {
	URL        string `json:"url"`
	Kubeconfig string `json:"kubeconfig"`
}

// process is a control plane. It holds the other end of its standard input: when
// that is closed, as it is when this process dies, the control plane ends.
type process struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	lines   chan []byte // that it prints; closed when it has ended
	log     *lastBytes

	mu sync.Mutex // held from an order to its answer
}

// launch returns when the control plane is ready.
func launch(binary string, args ...string) (*process, ready, error) {
	//nolint:noctx // it outlives every context: it ends when its input does
	p := &process{command: exec.Command(binary, args...), lines: make(chan []byte), log: &lastBytes{limit: 16 << 10}}
	p.command.Stderr = p.log
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return nil, ready{}, err
	}
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, ready{}, err
	}
	if err := p.command.Start(); err != nil {
		return nil, ready{}, err
	}
	go p.read(stdout)
	var r ready
	if err := p.answer(&r); err != nil {
		return nil, ready{}, errors.Join(err, p.end())
	}
	return p, r, nil
}

func (p *process) read(stdout io.Reader) {
	defer close(p.lines)
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
		p.lines <- append([]byte(nil), scanner.Bytes()...)
	}
}

// answer decodes the next line into v.
func (p *process) answer(v any) error {
	select {
	case line, ok := <-p.lines:
		if !ok {
			return fmt.Errorf("control plane ended: %s", p.log)
		}
		return json.Unmarshal(line, v)
	case <-time.After(patience):
		return fmt.Errorf("no answer from control plane: %s", p.log)
	}
}

func (p *process) order(order string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := io.WriteString(p.stdin, order+"\n"); err != nil {
		return fmt.Errorf("send order: %w", err)
	}
	var done struct {
		Error string `json:"error"`
	}
	if err := p.answer(&done); err != nil {
		return err
	}
	if done.Error != "" {
		return errors.New(done.Error)
	}
	return nil
}

// end returns when the control plane has ended, killed if it takes too long.
func (p *process) end() error {
	killer := time.AfterFunc(patience, func() { _ = p.command.Process.Kill() }) // it may have ended by now
	defer killer.Stop()
	if err := p.stdin.Close(); err != nil {
		return fmt.Errorf("end control plane: %w", err)
	}
	for range p.lines { // read to its end before Wait closes it
		continue
	}
	if err := p.command.Wait(); err != nil {
		return fmt.Errorf("end control plane: %w: %s", err, p.log)
	}
	return nil
}

// lastBytes keeps the end of what is written.
type lastBytes struct {
	limit int
	mu    sync.Mutex // guards kept
	kept  []byte
}

func (l *lastBytes) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, b...)
	if extra := len(l.kept) - l.limit; extra > 0 {
		l.kept = append([]byte(nil), l.kept[extra:]...)
	}
	return len(b), nil
}

func (l *lastBytes) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.kept)
}
