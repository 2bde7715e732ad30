package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"toa.io/toa/orchestrator"
)

// dockerPatience is how long a Docker may take to say that it is there.
const dockerPatience = 5 * time.Second

// Docker is the engine that the docker command speaks to.
type Docker struct {
	// Command is "docker" where it is empty.
	Command string
}

func (d Docker) command(said *words, args ...string) Command {
	return Command{Name: cmp.Or(d.Command, "docker"), Args: args, Line: said.add, Fix: "install Docker"}
}

// Answers tells whether there is an engine.
func (d Docker) Answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, dockerPatience)
	defer cancel()
	return d.command(&words{}, "version", "--format", "{{.Server.Version}}").Run(ctx) == nil
}

// Load hands an image of a layout to the engine, under its reference.
func (d Docker) Load(ctx context.Context, from *Layout, ref orchestrator.Reference) error {
	reader, writer := io.Pipe()
	exported := make(chan error, 1)
	go func() {
		err := from.Export(ctx, ref, writer)
		_ = writer.CloseWithError(err)
		exported <- err
	}()
	var said words
	load := d.command(&said, "load", "--quiet")
	load.Stdin = reader
	err := load.Run(ctx)
	_ = reader.Close()
	if failed := <-exported; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		return fmt.Errorf("load into Docker: %w", failed) // what Docker says of half an archive helps nobody
	}
	if err != nil {
		return fmt.Errorf("load %s into Docker: %w%s", ref, err, said.after(": "))
	}
	return nil
}

// words are the last that a child said.
type words struct {
	mu   sync.Mutex // guards last
	last string
}

func (w *words) add(_, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text = strings.TrimSpace(text); text != "" {
		w.last = text
	}
}

// after are the words behind a separator, or nothing.
func (w *words) after(separator string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == "" {
		return ""
	}
	return separator + w.last
}
