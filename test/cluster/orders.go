package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Ready is the first line that the command prints.
type Ready struct {
	URL        string   `json:"url"`
	Kubeconfig string   `json:"kubeconfig"`
	Contexts   []string `json:"contexts"`
}

// Done is the line that answers an order. Error is empty where all went well.
type Done struct {
	Order string `json:"order"`
	Error string `json:"error,omitempty"`
}

// orders are what can be done to a running cluster.
type orders struct {
	api *apiServer
	out io.Writer
}

// obey returns nil when in or ctx ends.
func (o orders) obey(ctx context.Context, in io.Reader) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	lines := read(ctx, in)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hangups:
			o.answer(o.do(ctx, "restart"))
		case order, ok := <-lines:
			if !ok {
				return nil
			}
			o.answer(o.do(ctx, order))
		}
	}
}

// read sends lines until in or ctx ends. A read from a pipe that stays open
// cannot be given up: the goroutine ends with the process, which is near.
func read(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

func (o orders) do(ctx context.Context, order string) Done {
	var err error
	switch order {
	case "stop":
		err = o.api.stop()
	case "start":
		err = o.api.start(ctx)
	case "restart":
		err = errors.Join(o.api.stop(), o.api.start(ctx))
	default:
		err = errors.New("orders are stop, start, restart")
	}
	if err != nil {
		return Done{order, err.Error()}
	}
	return Done{Order: order}
}

// answer writes one line. If nobody reads it, standard input will end soon.
func (o orders) answer(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // strings are all there is in it
	}
	fmt.Fprintf(o.out, "%s\n", text)
}
