// Command run measures toa against programs that do the least that the same
// work needs, or that people use for it today. The two sides of a case take
// turns, so that both meet the same machine; the ratio of their medians is what
// counts. It prints a Markdown table and fails when a case cannot be measured,
// not when one falls short.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var o options
	only := ""
	flag.BoolVar(&o.quick, "quick", false, "small trees: a look at whether everything works, not a measurement")
	flag.IntVar(&o.runs, "runs", 9, "how often each side of a case runs")
	flag.StringVar(&only, "only", "", "measure the cases that this regular expression matches")
	flag.StringVar(&o.toa, "toa", "", "the toa binary (default: it is built)")
	flag.StringVar(&o.dir, "dir", "", "where to work; kept afterwards (default: a temporary directory)")
	flag.Parse()
	err := o.pick(only)
	if err == nil {
		err = o.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // the process ends, and with it the signals
	}
}

type options struct {
	quick bool
	runs  int
	only  *regexp.Regexp
	toa   string
	dir   string
}

func (o *options) pick(only string) (err error) {
	o.only, err = regexp.Compile(only)
	if err == nil && o.runs < 1 {
		err = fmt.Errorf("%d runs measure nothing", o.runs)
	}
	return err
}

func (o *options) run(ctx context.Context) error {
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "toa-bench-")
		if err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
		defer os.RemoveAll(dir) //nolint:errcheck // what is left is in the temporary directory
		o.dir = dir
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return fmt.Errorf("find directory: %w", err)
	}
	tools, err := buildTools(ctx, filepath.Join(dir, "bin"), o.toa)
	if err != nil {
		return err
	}
	fmt.Printf("%d cores, %s/%s, %s, medians of %d interleaved runs\n\n%s",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), o.runs, tableHead)
	for _, s := range scenarios(o.quick) {
		if !o.only.MatchString(s.name) {
			continue
		}
		row, err := s.row(ctx, tools, filepath.Join(dir, s.slug()), o.runs)
		if err != nil {
			return fmt.Errorf("measure %s: %w", s.name, err)
		}
		fmt.Print(row)
	}
	return nil
}
