package main

import (
	"net"
	"sync"
)

// breakable is a listener whose connections can all be broken at once.
type breakable struct {
	net.Listener

	mu     sync.Mutex // guards what follows
	broken bool
	open   map[*tracked]struct{}
}

func (b *breakable) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	t := &tracked{Conn: conn, by: b}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken {
		conn.Close()
	}
	if b.open == nil {
		b.open = map[*tracked]struct{}{}
	}
	b.open[t] = struct{}{}
	return t, nil
}

// cut breaks the connections, and those to come, without a farewell. To close
// the listener is left to the API server, which panics when another does it.
func (b *breakable) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = true
	for t := range b.open {
		t.Conn.Close()
	}
}

type tracked struct {
	net.Conn
	by *breakable
}

func (t *tracked) Close() error {
	t.by.mu.Lock()
	delete(t.by.open, t)
	t.by.mu.Unlock()
	return t.Conn.Close()
}
