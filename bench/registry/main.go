// Command registry is a container registry on a loopback port, in memory, that
// writes a line for each request it gets. The first line of standard output is
// its address, the others are the requests: method, path, status, user agent.
// It ends when its standard input does. With -delay each request waits so long
// first, as on a long line.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	delay := flag.Duration("delay", 0, "how long each request waits")
	flag.Parse()
	if err := serve(context.Background(), os.Stdin, os.Stdout, *delay); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, until io.Reader, out io.Writer, delay time.Duration) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: delayed(logged(New(ctx), out), delay)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	fmt.Fprintln(out, listener.Addr())
	_, _ = io.Copy(io.Discard, until) // its end is the signal, however it ends
	if err := server.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if err := <-ended; err != http.ErrServerClosed { //nolint:errorlint // Serve returns it as it is
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
