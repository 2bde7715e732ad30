package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"sync"
	"syscall"

	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
)

// ErrOrphaned is the cause of a release that was stopped because the process
// that ordered it has ended.
var ErrOrphaned = errors.New("the process that ordered the release has ended")

// errStopped is the cause of a release that a signal stopped.
var errStopped = errors.New("stopped")

// Serve is the child's side of release.Worker: it reads one order from in,
// carries it out, and writes messages to out, of which the last is a result or
// a failure. SIGTERM, SIGINT and the end of in make it settle the release and
// end. It is the last call of its process: a reader of in may be left.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	// Nobody may be left to read what we say, and that must not end us.
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signalled, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	defer context.AfterFunc(signalled, func() { cancel(errStopped) })() //nolint:contextcheck // of signals alone
	messages := &messages{to: json.NewEncoder(out)}
	orders := bufio.NewReader(in)
	made, err := obey(ctx, orders, messages, func() {
		_, _ = io.Copy(io.Discard, orders)
		cancel(ErrOrphaned)
	})
	if err != nil {
		messages.send(release.Message{Failure: failure(err)})
		return nil
	}
	messages.send(release.Message{Result: &made})
	return nil
}

// obey reads an order and carries it out; watch runs from the order on.
func obey(ctx context.Context, orders *bufio.Reader, messages *messages, watch func()) (orchestrator.Release, error) {
	order, err := readOrder(orders)
	if err != nil {
		return orchestrator.Release{}, err
	}
	go watch()
	c, err := Open(order.Target)
	if err != nil {
		return orchestrator.Release{}, err
	}
	if order.Chart == nil {
		return c.Rollback(ctx, order, messages.send)
	}
	return c.Apply(ctx, order, messages.send)
}

// readOrder reads one line.
func readOrder(r *bufio.Reader) (release.Order, error) {
	var order release.Order
	line, err := r.ReadBytes('\n')
	if err != nil {
		return order, fmt.Errorf("read order: %w", err)
	}
	if err := json.Unmarshal(line, &order); err != nil {
		return order, fmt.Errorf("read order: %w", err)
	}
	if order.Format != release.OrderFormat {
		return order, fmt.Errorf("read order: format is %q, want %q", order.Format, release.OrderFormat)
	}
	if order.Timeout <= 0 || order.History <= 0 {
		return order, errors.New("read order: timeout and history must be stated")
	}
	if (order.Chart == nil || order.Inputs == "") && order.Rollback == 0 {
		return order, errors.New("read order: a chart with its inputs, or a revision to go back to, must be stated")
	}
	return order, nil
}

// messages writes one at a time.
type messages struct {
	mu sync.Mutex // guards to
	to *json.Encoder
}

// send writes a message. Where nobody reads it, that is no reason to stop.
func (m *messages) send(message release.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.to.Encode(message)
}

// failure is an error as it travels to the parent.
func failure(err error) *release.Failure {
	f := &release.Failure{Message: err.Error()}
	var mistaken interface{ Mistake() bool }
	if errors.As(err, &mistaken) {
		f.Configuration = mistaken.Mistake()
	}
	var settled *SettledError
	if errors.As(err, &settled) {
		f.Message, f.Settled = settled.Err.Error(), settled.Settled
	}
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		f.Advice = hinted.Hint()
	}
	return f
}
