package cli

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"github.com/spf13/cobra"

	"toa.io/toa/internal/sdk"
)

func registryCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "registry", Short: "A registry for development"}
	var addr, dir string
	serve := &cobra.Command{
		Use:   "serve",
		Short: "Serve a registry from a directory, until Ctrl-C",
		Long: `Serve runs a registry in this process. What is pushed stays in the directory. Its
address in a browser lists what it holds. It asks for no password, so it is reached
from this machine only unless --addr says otherwise.`,
		Example: `  toa registry serve
  toa push --registry 127.0.0.1:5000/team`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.serveRegistry(cmd.Context(), addr, dir) },
	}
	serve.Flags().StringVar(&addr, "addr", "127.0.0.1:5000", "the address to listen on; port 0 takes a free one")
	serve.Flags().StringVar(&dir, "dir", "", "where images are (default: registry in the cache directory)")
	cmd.AddCommand(full(serve))
	return cmd
}

func (g *globals) serveRegistry(ctx context.Context, addr, dir string) error {
	if dir == "" {
		root, err := g.cachePath()
		if err != nil {
			return err
		}
		dir = filepath.Join(root, registryDir)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return &listenError{addr: addr, err: err}
	}
	if bound, ok := listener.Addr().(*net.TCPAddr); ok && !bound.IP.IsLoopback() {
		g.warn("everybody who reaches " + bound.String() + " can push to it: it asks for no password")
	}
	if _, err := fmt.Fprintf(g.io.Out, "http://%s  %s\n", listener.Addr(), dir); err != nil {
		_ = listener.Close()
		return err
	}
	return sdk.ServeRegistry(ctx, listener, dir)
}

// listenError is an address that cannot be listened on.
type listenError struct {
	addr string
	err  error
}

func (e *listenError) Error() string { return fmt.Sprintf("listen on %s: %v", e.addr, e.err) }
func (e *listenError) Unwrap() error { return e.err }

// Hint is how to mend it.
func (e *listenError) Hint() string {
	return "another registry may be running: stop it, or take a free port with --addr 127.0.0.1:0"
}
