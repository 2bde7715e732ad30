package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

// registry is a running bench/registry.
type registry struct {
	address string
	cmd     *exec.Cmd
	input   io.Closer // its end ends the registry
	// counts get the number of requests before each mark; it is closed when the
	// registry has ended.
	counts chan int
}

// registry starts one at which each request takes delay longer.
func (t tools) registry(ctx context.Context, delay time.Duration) (*registry, error) {
	cmd := t.our(ctx, "registry", "-delay", delay.String())
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start registry: %w", err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start registry: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start registry: %w", err)
	}
	log := bufio.NewScanner(output)
	if !log.Scan() {
		return nil, fmt.Errorf("start registry: no address: %w", cmd.Wait())
	}
	r := &registry{address: log.Text(), cmd: cmd, input: input, counts: make(chan int, 1)}
	go r.follow(log)
	return r, nil
}

// mark is the user agent of a request that no program under test makes.
const mark = "bench-mark"

// follow reads the log as it is written: the registry waits while nobody does.
func (r *registry) follow(log *bufio.Scanner) {
	defer close(r.counts)
	for count := 0; log.Scan(); count++ {
		if strings.HasSuffix(log.Text(), mark) {
			r.counts <- count
			count = -1
		}
	}
}

// end closes the registry when a measurement returns; that this fails counts
// where nothing else did.
func (r *registry) end(err *error) {
	if closed := r.close(); *err == nil {
		*err = closed
	}
}

func (r *registry) close() error {
	if err := r.input.Close(); err != nil {
		return fmt.Errorf("stop registry: %w", err)
	}
	for range r.counts {
		continue // until the log has ended
	}
	return r.cmd.Wait()
}

// requests counts what the registry got since it was last asked, by a request
// of its own up to which the log is counted.
func (r *registry) requests(ctx context.Context) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.address+"/v2/", nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("User-Agent", mark)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("mark log: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // nothing of it is wanted
	count, ok := <-r.counts
	if !ok {
		return 0, errors.New("read log: the registry has ended")
	}
	return count, nil
}
