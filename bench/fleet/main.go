// Command fleet publishes many images of which each has one layer of 50 KB that
// has changed, either as toa does or, with -peer, through go-containerregistry's
// Pusher, four images at a time both. What is there before the change, and the
// images themselves, are made first; then it prints how long the publishing took
// and what of the processor, in nanoseconds, and how many requests that was.
//
//	fleet [-peer] [-images N] [-seed N] [-delay 20ms] HOST/PREFIX
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// jobs is how many images toa builds and publishes at a time by default.
const jobs = 4

// layerSize is how many bytes of a layer have changed. They do not compress.
const layerSize = 50_000

func main() {
	var f fleet
	peer := flag.Bool("peer", false, "publish through go-containerregistry's Pusher")
	delay := flag.Duration("delay", 0, "how long each request of the publishing waits first, as on a long line")
	flag.IntVar(&f.images, "images", 100, "how many images are published")
	flag.Uint64Var(&f.seed, "seed", 1, "seed of what is in them")
	flag.Parse()
	f.target = flag.Arg(0)
	publish := f.toa
	if *peer {
		publish = f.pusher
	}
	if err := measure(context.Background(), publish, *delay); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// fleet is what is published.
type fleet struct {
	images int
	seed   uint64
	target string // HOST/PREFIX
}

// prepare makes all that is needed and returns what publishes it by line.
type prepare func(ctx context.Context, by *line) (publish func(context.Context) error, done func(), err error)

func measure(ctx context.Context, publisher prepare, delay time.Duration) error {
	by := &line{to: &http.Transport{MaxIdleConnsPerHost: 32}}
	publish, done, err := publisher(ctx, by)
	if err != nil {
		return err
	}
	defer done()
	by.delay = delay
	by.sent.Store(0)
	before, began := used(), time.Now()
	if err := publish(ctx); err != nil {
		return err
	}
	_, err = fmt.Println(time.Since(began).Nanoseconds(), (used() - before).Nanoseconds(), by.sent.Load())
	return err
}

// used is how long this process has kept a processor busy.
func used() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// line counts requests, and lets each wait.
type line struct {
	to    http.RoundTripper
	delay time.Duration
	sent  atomic.Int64
}

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	l.sent.Add(1)
	time.Sleep(l.delay)
	return l.to.RoundTrip(r)
}

// each does something for all images, so many at a time.
func (f fleet) each(ctx context.Context, limit int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for i := range f.images {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
