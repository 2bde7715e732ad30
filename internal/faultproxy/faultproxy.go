// Package faultproxy stands in front of a registry and does to chosen requests
// what networks, proxies and busy registries do. It is for tests
// only. It knows the requests of the distribution specification, nothing of
// images.
//
// Its users may rely on this: a rule strikes exactly the calls that it names;
// requests that no rule names are passed on as they came; Close ends all that
// is held up.
package faultproxy

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Rule says what happens to some requests about a repository.
type Rule struct {
	// Repository is the one that requests are about; empty means any.
	Repository string
	// Kind is what they ask for; empty means any.
	Kind Kind
	// From is the first call that is struck, counted from 1; Count is how many
	// are, and zero means all that follow.
	From, Count int
	Fault       Fault
}

func (r Rule) names(about call) bool {
	return (r.Repository == "" || r.Repository == about.repository) && (r.Kind == "" || r.Kind == about.kind)
}

// Proxy is an HTTP server on a loopback port. Calls overlap.
type Proxy struct {
	// Host is where it listens: "127.0.0.1:port".
	Host string

	next   http.Handler
	server *httptest.Server
	closed chan struct{}

	mu    sync.Mutex // guards what follows
	rules []*armed
	log   []Request
}

// armed is a rule with the calls that it has seen.
type armed struct {
	Rule
	seen, struck int
}

// Request is one that came.
type Request struct {
	Kind       Kind
	Repository string
	// Bytes is how much of the body was read.
	Bytes int64
}

// Start begins to listen. What no rule names goes to next.
func Start(next http.Handler) *Proxy {
	p := &Proxy{next: next, closed: make(chan struct{})}
	p.server = httptest.NewUnstartedServer(p)
	p.server.Config.ErrorLog = quiet // reset connections are what we are for
	p.server.Start()
	p.Host = p.server.Listener.Addr().String()
	return p
}

// Close lets go of all that is held up, and ends the server.
func (p *Proxy) Close() {
	close(p.closed)
	p.server.CloseClientConnections()
	p.server.Close()
}

// Inject adds rules. Of several that name a call the first strikes.
func (p *Proxy) Inject(rules ...Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, rule := range rules {
		p.rules = append(p.rules, &armed{Rule: rule})
	}
}

// Heal drops the rules about a repository.
func (p *Proxy) Heal(repository string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = slices.DeleteFunc(p.rules, func(r *armed) bool { return r.Repository == repository })
}

// Struck is how many calls the rules about a repository have struck.
func (p *Proxy) Struck(repository string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, rule := range p.rules {
		if rule.Repository == repository {
			n += rule.struck
		}
	}
	return n
}

// Requests are those about a repository so far; all of them for an empty one.
func (p *Proxy) Requests(repository string) []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.log), func(r Request) bool { return repository != "" && r.Repository != repository })
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	about := callOf(r)
	body := &counted{ReadCloser: r.Body}
	r = r.WithContext(r.Context()) // the server has to know its own body, or reads on
	r.Body = body
	defer func() { // a fault may panic, which is how net/http breaks a connection
		p.mu.Lock()
		defer p.mu.Unlock()
		p.log = append(p.log, Request{Kind: about.kind, Repository: about.repository, Bytes: body.read.Load()})
	}()
	if fault := p.strike(about); fault != nil {
		fault(p, w, r)
		return
	}
	p.next.ServeHTTP(w, r)
}

// strike counts the call and finds what happens to it.
func (p *Proxy) strike(about call) Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	var fault Fault
	for _, rule := range p.rules {
		if !rule.names(about) {
			continue
		}
		rule.seen++
		if fault == nil && rule.seen >= rule.From && (rule.Count == 0 || rule.seen < rule.From+rule.Count) {
			rule.struck++
			fault = rule.Fault
		}
	}
	return fault
}

// hold waits, and is false if there is nobody any more to go on for.
func (p *Proxy) hold(r *http.Request, wait time.Duration) bool {
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-p.closed:
	}
	return false
}

// counted counts what is read of a body.
type counted struct {
	io.ReadCloser
	read atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.read.Add(int64(n))
	return n, err
}

// connection takes the connection away from the server.
func connection(w http.ResponseWriter) (net.Conn, error) {
	c, _, err := http.NewResponseController(w).Hijack()
	return c, err
}
