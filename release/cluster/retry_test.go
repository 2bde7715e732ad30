package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// flaky fails with its errors, one for each request, and then answers.
type flaky struct {
	errs   []error
	bodies []string
}

func (f *flaky) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, _ := io.ReadAll(r.Body)
		f.bodies = append(f.bodies, string(body))
	} else {
		f.bodies = append(f.bodies, "")
	}
	if len(f.errs) == 0 {
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, err
}

func TestPatience(t *testing.T) {
	refused := fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	reset := fmt.Errorf("read: %w", syscall.ECONNRESET)
	handshake := errors.New("net/http: TLS handshake timeout")
	lost := errors.New("http2: client connection lost")
	other := errors.New("certificate signed by unknown authority")
	tests := map[string]struct {
		method   string
		errs     []error
		answered bool
		sent     int
		want     error
	}{
		"no trouble":                   {"GET", nil, false, 1, nil},
		"away for a while":             {"GET", []error{refused, refused, reset}, true, 4, nil},
		"never there":                  {"GET", []error{refused, refused}, false, 1, refused},
		"a POST that was not received": {"POST", []error{refused}, true, 2, nil},
		"a POST that may have been":    {"POST", []error{reset}, true, 1, reset},
		"a PATCH that may have been":   {"PATCH", []error{reset, io.EOF, lost}, true, 4, nil},
		"a POST of no connection":      {"POST", []error{handshake, refused}, true, 3, nil},
		"what waiting does not mend":   {"GET", []error{other}, true, 1, other},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next := &flaky{errs: test.errs}
				p := &patient{next: next, answered: new(atomic.Bool)}
				p.answered.Store(test.answered)
				r, _ := http.NewRequestWithContext(t.Context(), test.method, "https://a.test/", strings.NewReader("body"))
				response, err := p.RoundTrip(r)
				if err == nil {
					_ = response.Body.Close()
				}
				if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
					t.Errorf("RoundTrip = %v, want %v", err, test.want)
				}
				if len(next.bodies) != test.sent {
					t.Errorf("sent %d times, want %d", len(next.bodies), test.sent)
				}
				for i, body := range next.bodies {
					if body != "body" {
						t.Errorf("body %d is %q", i, body)
					}
				}
			})
		})
	}
}

// torn answers with bodies that break off, once for each of its errors.
type torn struct{ errs []error }

func (b *torn) RoundTrip(*http.Request) (*http.Response, error) {
	body := io.Reader(strings.NewReader("whole"))
	if len(b.errs) > 0 {
		body = io.MultiReader(strings.NewReader("who"), iotest.ErrReader(b.errs[0]))
		b.errs = b.errs[1:]
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body)}, nil
}

func TestPatienceWithAnswersThatBreakOff(t *testing.T) {
	cut := func() []error { return []error{io.ErrUnexpectedEOF, syscall.ECONNRESET} }
	tests := map[string]struct {
		method, query string
		want          error
	}{
		"asked for again":               {method: "GET"},
		"deleted again":                 {method: "DELETE"},
		"a POST may have done its work": {method: "POST", want: io.ErrUnexpectedEOF},
		"a watch is handed on":          {method: "GET", query: "?watch=true", want: io.ErrUnexpectedEOF},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &patient{next: &torn{errs: cut()}, answered: new(atomic.Bool)}
				p.answered.Store(true)
				r, _ := http.NewRequestWithContext(t.Context(), test.method, "https://a.test/"+test.query, nil)
				response, err := p.RoundTrip(r)
				var body []byte
				if err == nil {
					body, err = io.ReadAll(response.Body)
				}
				if !errors.Is(err, test.want) || (err == nil) != (string(body) == "whole") {
					t.Errorf("answer = %q, %v, want %v", body, err, test.want)
				}
			})
		})
	}
}

func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make([]error, 10_000)
		for i := range gone {
			gone[i] = syscall.ECONNREFUSED
		}
		p := &patient{next: &flaky{errs: gone}, answered: new(atomic.Bool)}
		p.answered.Store(true)
		began := time.Now()
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://a.test/", nil)
		if _, err := p.RoundTrip(r); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("RoundTrip = %v, want that the connection is refused", err)
		}
		if took := time.Since(began); took < outage || took > outage+2*maxPause {
			t.Errorf("gave up after %s, want %s", took, outage)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if _, err := p.RoundTrip(r.WithContext(ctx)); err == nil {
			t.Error("a server that is gone has answered")
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("a request that was given up took %s", took)
		}
	})
}
