package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// gateLimit is how long a gate stays closed at most: a test that never opens it
// fails instead of hanging.
const gateLimit = 2 * time.Minute

// gate puts itself in front of $REGISTRY and keeps requests of a method, to
// addresses that hold a text, waiting until the file $WORK/open is there. The
// file $WORK/reached appears with the first one.
func gate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: gate METHOD TEXT")
	}
	behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: ts.Getenv("REGISTRY")})
	behind.ErrorLog = log.New(io.Discard, "", 0) // clients are killed here
	open, reached := ts.MkAbs("open"), ts.MkAbs("reached")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == args[0] && strings.Contains(r.URL.Path, args[1]) {
			_ = os.WriteFile(reached, nil, 0o644)
			waitFor(r, open)
		}
		behind.ServeHTTP(w, r)
	}))
	ts.Defer(server.Close)
	ts.Setenv("REGISTRY", strings.TrimPrefix(server.URL, "http://"))
}

// waitFor returns when a file is there or nobody waits any more.
func waitFor(r *http.Request, path string) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(gateLimit)
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-limit:
			return
		case <-r.Context().Done():
			return
		}
	}
}
