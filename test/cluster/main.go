// Command cluster is a Kubernetes control plane in one process, for tests: etcd,
// the API server, controllers and the scheduler are the real ones; nodes are
// played by package kubelet, which runs nothing but asks the registry for every
// image. It needs no root and no network but the loopback.
//
// Once it is ready it prints one line of JSON (see [Ready]) and then obeys the
// lines that it reads: stop and start do so to the API server, which keeps its
// address and its data, and are answered by a line each. SIGHUP does both.
//
// It ends on SIGTERM, on SIGINT, and when its standard input ends: who holds the
// other end of that pipe takes the cluster along, however it dies.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"k8s.io/klog/v2"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// settings are what the command line says.
type settings struct {
	dir         string // where everything is kept; made and removed again where it is empty
	contexts    list   // of the kubeconfig, all of the same cluster
	nodes       int
	trustImages bool
	apiServer   list // more arguments for the API server
}

func parse(args []string) (settings, error) {
	s := settings{contexts: list{"test"}}
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.StringVar(&s.dir, "dir", "", "keep data, certificates and kubeconfig in this `directory` (default: one that is removed at the end)")
	flags.Func("contexts", "`names` of the kubeconfig's contexts, split by commas, the first is the current one (default test)", func(v string) error {
		s.contexts = strings.Split(v, ",")
		return nil
	})
	flags.IntVar(&s.nodes, "nodes", 1, "how many nodes there are")
	flags.BoolVar(&s.trustImages, "trust-images", false, "take every image to be there, ask no registry")
	flags.Var(&s.apiServer, "apiserver", "one more `argument` for the API server, such as --watch-cache=false; may be repeated")
	verbosity := flags.String("v", "0", "verbosity of the control plane's log")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var level klog.Level
	return s, level.Set(*verbosity)
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func run(ctx context.Context, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "cluster-"); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
		defer os.RemoveAll(s.dir)
	}
	return serve(ctx, s)
}
