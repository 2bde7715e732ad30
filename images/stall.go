package images

import (
	"context"
	"errors"
	"io"
	"time"
)

// errStalled ends a request of which nothing moved for Client.Stall: neither
// was it sent nor was it answered. TCP alone would wait for ever on a peer that
// is alive and reads nothing.
var errStalled = errors.New("the connection stalls")

// watch ends a request that stalls.
type watch struct {
	ctx    context.Context //nolint:containedctx // that of the one request
	cancel context.CancelCauseFunc
	limit  time.Duration
	timer  *time.Timer
}

// watched begins to watch a request that is made with the watch's context.
// Closing the answer ends it, or stop where there is none.
func watched(ctx context.Context, limit time.Duration) *watch {
	w := &watch{limit: limit}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(limit, func() { w.cancel(errStalled) })
	return w
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// explain turns the error of a request that was ended into the reason.
func (w *watch) explain(err error) error {
	if err != nil && context.Cause(w.ctx) == errStalled { //nolint:errorlint // it is set as it is
		return errStalled
	}
	return err
}

// sending is a body on its way: to read of it is to move on.
type sending struct {
	io.ReadCloser
	watch *watch
}

func (s sending) Read(p []byte) (int, error) {
	s.watch.timer.Reset(s.watch.limit)
	return s.ReadCloser.Read(p)
}

// answering is the body of an answer. Only reading counts: who reads may take
// its time in between.
type answering struct {
	io.ReadCloser
	watch *watch
}

func (a answering) Read(p []byte) (int, error) {
	a.watch.timer.Reset(a.watch.limit)
	defer a.watch.timer.Stop()
	n, err := a.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = a.watch.explain(err)
	}
	return n, err
}

func (a answering) Close() error {
	defer a.watch.stop()
	return a.ReadCloser.Close()
}
