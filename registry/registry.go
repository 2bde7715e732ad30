// Package registry serves a registry for development: the distribution registry
// in this process, on a directory that outlives it, with a page at / that lists
// what it holds. It knows nothing of workspaces. It asks nobody for a password,
// so it is for a machine's own address.
package registry

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	"github.com/distribution/distribution/v3/registry/storage"
	"github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	"github.com/sirupsen/logrus"
)

// farewell is how long requests under way may take once the registry is to end.
const farewell = 5 * time.Second

// Serve answers on listener until ctx ends, which is no error, and closes it.
func Serve(ctx context.Context, listener net.Listener, dir string) error {
	handler, closing, err := open(ctx, dir)
	if err != nil {
		_ = listener.Close()
		return err
	}
	defer closing()
	quiet := log.New(io.Discard, "", 0) // clients that go away are no news
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, ErrorLog: quiet}
	stopped := make(chan error, 1)
	over := context.AfterFunc(ctx, func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		err := server.Shutdown(late)
		stopped <- errors.Join(err, server.Close())
	})
	err = server.Serve(listener)
	if !over() {
		err = <-stopped // the end was asked for
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("serve registry: %w", err)
	}
	return nil
}

// open makes the registry of a directory. The caller calls closing.
func open(ctx context.Context, dir string) (_ http.Handler, closing func(), err error) {
	if err := usable(dir); err != nil {
		return nil, nil, fmt.Errorf("open registry: %w", err)
	}
	// The library logs to the one logger of its process, whatever it is told;
	// errors reach clients as answers.
	logrus.SetOutput(io.Discard)
	app := handlers.NewApp(context.WithoutCancel(ctx), settings(dir))
	driver := filesystem.New(filesystem.DriverParameters{RootDirectory: dir, MaxThreads: readers})
	stored, err := storage.NewRegistry(ctx, driver)
	if err != nil {
		return nil, nil, fmt.Errorf("open registry: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v2/", app)
	mux.Handle("GET /{$}", &page{stored: stored})
	return mux, func() { _ = app.Shutdown() }, nil
}

// readers bounds how many files are open for the page.
const readers = 16

// usable makes the directory where it is missing, and finds out now what would
// otherwise fail each push.
func usable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func settings(dir string) *configuration.Configuration {
	c := &configuration.Configuration{
		Storage: configuration.Storage{
			"filesystem": configuration.Parameters{"rootdirectory": filepath.Clean(dir)},
			"delete":     configuration.Parameters{"enabled": true},
			// It would go on in the background after the end.
			"maintenance": configuration.Parameters{"uploadpurging": map[any]any{"enabled": false}},
		},
	}
	c.Log.AccessLog.Disabled = true
	c.HTTP.Secret = rand.Text() // of uploads under way, which end with the process
	return c
}
