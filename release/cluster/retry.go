package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// outage is how long a server that has answered before may be away. A restart
// of an API server takes seconds.
const outage = 30 * time.Second

const (
	firstPause = 50 * time.Millisecond
	maxPause   = time.Second
)

// patient sends requests again that found a server gone which had answered
// before. One that never answered is not waited for: its address is wrong.
type patient struct {
	next     http.RoundTripper
	answered *atomic.Bool
}

func (p *patient) RoundTrip(r *http.Request) (*http.Response, error) {
	deadline := time.Now().Add(outage)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		response, err := p.whole(r)
		if err == nil {
			p.answered.Store(true)
			return response, nil
		}
		if !p.answered.Load() || !repeatable(r, err) || time.Now().After(deadline) {
			return nil, err
		}
		select {
		case <-r.Context().Done():
			return nil, err
		case <-time.After(pause):
		}
		if r, err = again(r); err != nil {
			return nil, err
		}
	}
}

// whole sends a request and reads the answer to its end, so that one which
// breaks off is asked for again like one that never came.
func (p *patient) whole(r *http.Request) (*http.Response, error) {
	response, err := p.next.RoundTrip(r)
	if err != nil || streams(r) {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", r.URL.Host, err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// streams tells requests whose answers go on for as long as somebody listens.
func streams(r *http.Request) bool {
	query := r.URL.Query()
	return query.Has("watch") || query.Has("follow")
}

// repeatable tells whether a request may be sent again: it was surely not
// received, or receiving it twice is receiving it once. A POST may have made
// its object before the connection broke.
func repeatable(r *http.Request, err error) bool {
	if r.Body != nil && r.GetBody == nil || r.Context().Err() != nil {
		return false
	}
	return unsent(err) || r.Method != http.MethodPost && broken(err)
}

// unsent tells errors of connections that were never made. That of a handshake
// has no type of its own in net/http.
func unsent(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || strings.Contains(err.Error(), "TLS handshake timeout")
}

// broken tells errors of connections that were. Those of HTTP/2 have no type in net/http.
func broken(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		strings.Contains(err.Error(), "http2: ")
}

// again is the request with its body from the start.
func again(r *http.Request) (*http.Request, error) {
	fresh := r.Clone(r.Context())
	if r.GetBody == nil {
		return fresh, nil
	}
	body, err := r.GetBody()
	fresh.Body = body
	return fresh, err
}
