// Command registry is a container registry on a loopback port, in memory, that
// writes a line for each request it gets. The first line of standard output is
// its address, the others are the requests: method, path, status, user agent.
// It ends when its standard input does.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func main() {
	if err := serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, until io.Reader, out io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: logged(New(ctx), out)}
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
