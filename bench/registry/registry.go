package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory" // the driver that New names
)

// New is the reference registry with nothing in it.
func New(ctx context.Context) http.Handler {
	config := &configuration.Configuration{
		Storage: configuration.Storage{
			"inmemory":    configuration.Parameters{},
			"maintenance": configuration.Parameters{"uploadpurging": map[any]any{"enabled": false}},
		},
	}
	config.Log.Level = "error"
	config.Log.AccessLog.Disabled = true
	return handlers.NewApp(ctx, config)
}

// delayed lets each request wait.
func delayed(next http.Handler, delay time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(delay)
		next.ServeHTTP(w, r)
	})
}

// logged writes a line to out after each request.
func logged(next http.Handler, out io.Writer) http.Handler {
	var mu sync.Mutex // one line at a time
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(seen, r)
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(out, r.Method, r.URL.Path, seen.status, r.UserAgent())
	})
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets the registry reach what the wrapped writer can do.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
