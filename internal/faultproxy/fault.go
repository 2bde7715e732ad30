package faultproxy

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"
)

// Fault is what happens to a request.
type Fault func(p *Proxy, w http.ResponseWriter, r *http.Request)

var quiet = log.New(io.Discard, "", 0)

// EOF ends the connection when the request has come, with no answer.
func EOF(_ *Proxy, _ http.ResponseWriter, r *http.Request) {
	drain(r)
	panic(http.ErrAbortHandler)
}

// Lost passes the request on and ends the connection with no answer: what was
// asked for has happened.
func Lost(p *Proxy, _ http.ResponseWriter, r *http.Request) {
	p.next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// Reset breaks the connection off before the body is read.
func Reset(_ *Proxy, w http.ResponseWriter, _ *http.Request) { reset(w) }

// Cut breaks the connection off when n bytes of the body were read; where there
// is none, when n bytes were answered.
func Cut(n int64) Fault {
	return func(p *Proxy, w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 0 {
			_, _ = io.CopyN(io.Discard, r.Body, n)
			reset(w)
			return
		}
		answer := recorded(p.next, r)
		copyHeader(w, answer)
		w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()+1))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()[:min(n, int64(answer.Body.Len()))])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Status answers so, with headers given as name, value, …, and the body as JSON
// errors of the specification where there is one.
func Status(status int, body string, headers ...string) Fault {
	return func(_ *Proxy, w http.ResponseWriter, r *http.Request) {
		drain(r)
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Limit refuses bodies of more than n bytes, unread, as proxies do.
func Limit(n int64) Fault {
	return func(p *Proxy, w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > n {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		p.next.ServeHTTP(w, r)
	}
}

// Expired lets the registry refuse the request in its own way: as one that
// carries no credentials. The body is not read.
func Expired(p *Proxy, w http.ResponseWriter, r *http.Request) {
	r.Header.Del("Authorization")
	p.next.ServeHTTP(w, r)
}

// Stall neither reads nor answers, and keeps the connection.
func Stall(p *Proxy, _ http.ResponseWriter, r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-p.closed:
	}
	panic(http.ErrAbortHandler)
}

// Slow takes its time, and moves all the while: the body is read in ten pieces.
func Slow(whole time.Duration) Fault {
	return func(p *Proxy, w http.ResponseWriter, r *http.Request) {
		piece := whole / 10
		if r.ContentLength <= 0 && !p.hold(r, whole) {
			return
		}
		r.Body = io.NopCloser(&slow{proxy: p, request: r, from: r.Body, piece: r.ContentLength/10 + 1, wait: piece})
		p.next.ServeHTTP(w, r)
	}
}

type slow struct {
	proxy   *Proxy
	request *http.Request
	from    io.Reader
	piece   int64
	wait    time.Duration
}

func (s *slow) Read(b []byte) (int, error) {
	if !s.proxy.hold(s.request, s.wait) {
		return 0, io.ErrUnexpectedEOF
	}
	return s.from.Read(b[:min(int64(len(b)), s.piece)])
}

// WrongDigest passes the request on, and states another digest than the
// registry does. Content that is read is another, too.
func WrongDigest(p *Proxy, w http.ResponseWriter, r *http.Request) {
	answer := recorded(p.next, r)
	copyHeader(w, answer)
	if answer.Code < http.StatusMultipleChoices {
		w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
	}
	body := answer.Body.Bytes()
	if r.Method == http.MethodGet && len(body) > 0 {
		body = append(bytes.Clone(body[:len(body)-1]), ' ')
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(body)
}

// Call does something instead of the registry, and does not answer.
func Call(do func()) Fault {
	return func(p *Proxy, w http.ResponseWriter, r *http.Request) {
		do()
		Stall(p, w, r)
	}
}

// CallAfter lets the registry do what was asked for, then does something, and
// does not answer.
func CallAfter(do func()) Fault {
	return func(p *Proxy, w http.ResponseWriter, r *http.Request) {
		recorded(p.next, r)
		do()
		Stall(p, w, r)
	}
}

func recorded(next http.Handler, r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	return answer
}

func copyHeader(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
}

func drain(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }

func reset(w http.ResponseWriter) {
	c, err := connection(w)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset instead of a proper end
	}
	_ = c.Close()
}
