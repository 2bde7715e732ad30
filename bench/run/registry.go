package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
)

// registry is a running bench/registry.
type registry struct {
	address string
	cmd     *exec.Cmd
	input   io.Closer // its end ends the registry
	log     *bufio.Scanner
	marks   int
}

func (t tools) registry(ctx context.Context) (*registry, error) {
	cmd := t.our(ctx, "registry")
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
	r := &registry{cmd: cmd, input: input, log: bufio.NewScanner(output)}
	if !r.log.Scan() {
		return nil, fmt.Errorf("start registry: no address: %w", cmd.Wait())
	}
	r.address = r.log.Text()
	return r, nil
}

func (r *registry) close() error {
	if err := r.input.Close(); err != nil {
		return fmt.Errorf("stop registry: %w", err)
	}
	return r.cmd.Wait()
}

// requests counts what the registry got since it was last asked. It makes a
// request of its own and reads the log up to that.
func (r *registry) requests(ctx context.Context) (int, error) {
	r.marks++
	mark := fmt.Sprintf("bench-mark-%d", r.marks)
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
	for count := 0; r.log.Scan(); count++ {
		if strings.HasSuffix(r.log.Text(), mark) {
			return count, nil
		}
	}
	return 0, fmt.Errorf("read log: the registry has ended: %w", r.log.Err())
}
