// Command toa takes a monorepo to a release: it builds what changed, publishes
// it and finishes with one Helm release.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"toa.io/toa/internal/cli"
)

func main() {
	// A run is short and keeps most of what it allocates until its end.
	debug.SetGCPercent(400)
	os.Exit(run())
}

// run makes the one context: the first signal cancels it, a second one is left
// to the system and kills.
func run() int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		sig := <-signals
		signal.Stop(signals)
		cancel(cli.Interrupt(sig.(syscall.Signal)))
	}()
	return cli.Run(ctx, os.Args[1:], cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv})
}
