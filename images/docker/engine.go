package docker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

// Names of docker's builders.
const (
	// ownBuilder is a container that builds for every platform; the reference
	// has it too, so that its cache serves both.
	ownBuilder = "toa"
	// defaultBuilder is in dockerd.
	defaultBuilder = "default"
)

// engine remembers which builder is ready.
type engine struct {
	mu      sync.Mutex // guards the fields below and turn's making
	turn    chan struct{}
	name    string
	refused bool // the default builder does not give images out
}

// take lets one caller at a time look for the builder.
func (e *engine) take(ctx context.Context) (release func(), err error) {
	e.mu.Lock()
	if e.turn == nil {
		e.turn = make(chan struct{}, 1)
	}
	turn := e.turn
	e.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (e *engine) known() (name string, refused bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.name, e.refused
}

func (e *engine) remember(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.name = name
}

// refuse says that the default builder is of no use.
func (e *engine) refuse() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.name == defaultBuilder {
		e.name = ""
	}
	e.refused = true
}

// ready is the name of a builder that answers and is new enough. It is looked
// for once in a run; a caller that fails leaves it to the next one.
func (b *Builder) ready(ctx context.Context) (string, error) {
	release, err := b.engine.take(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	name, refused := b.engine.known()
	if name != "" {
		return name, nil
	}
	name = ownBuilder
	if b.HostOnly && !refused {
		name = defaultBuilder
	}
	if err := b.ensure(ctx, name); err != nil {
		return "", err
	}
	b.engine.remember(name)
	return name, nil
}

// ensure makes a builder ready, one process at a time: two that boot one at the
// same time would trip over each other (docker/buildx#1868).
func (b *Builder) ensure(ctx context.Context, name string) error {
	release, err := b.claim(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	said, err := b.ask(ctx, "--context=default", "buildx", "inspect", name)
	if err != nil && name == ownBuilder && absent(said) {
		if said, err = b.create(ctx); err != nil {
			return err
		}
	}
	if err != nil {
		return explain(said, err)
	}
	if buildKitVersion(said) == "" {
		if said, err = b.ask(ctx, "--context=default", "buildx", "inspect", "--bootstrap", name); err != nil {
			return explain(said, err)
		}
	}
	return checkVersion(name, buildKitVersion(said))
}

// claim keeps other processes from booting the builder meanwhile. A claim waits
// for a holder at work, however long an engine's image takes to be fetched, and
// says for whom it waits; for one that is stopped it waits no more after a while.
// Its docker may be at work still, for that is another process, and then both
// boot: create takes a builder that has come to be, and buildx waits for a
// container that another one makes (docker/buildx#2000, in all that we run with).
// The claim is kept where docker keeps its list of builders: who shares that
// shares them.
func (b *Builder) claim(ctx context.Context, name string) (release func(), err error) {
	h := cache.NewHasher("toa/builder/v1")
	h.Field("name", name)
	claims := cache.Claims{Dir: filepath.Join(configDir(), "toa"), Patience: b.Patience}
	release, _, err = claims.Take(ctx, h.Sum(), func(text string) {
		if b.Observe != nil {
			b.Observe(orchestrator.NoticeEvent{Text: "docker's builder " + name + ": " + text})
		}
	})
	return release, err
}

// create makes the builder as the reference does. One that has come to be in
// between is as good.
func (b *Builder) create(ctx context.Context) (said []string, err error) {
	said, err = b.ask(ctx, "--context=default", "buildx", "create", "--name", ownBuilder,
		"--driver", "docker-container", "--driver-opt", "network=host", "--bootstrap")
	if err != nil && !strings.Contains(strings.Join(said, "\n"), "existing instance") {
		return said, explain(said, err)
	}
	return said, nil
}

// ask runs docker for what it says.
func (b *Builder) ask(ctx context.Context, args ...string) ([]string, error) {
	var said collector
	err := b.command("", said.add).run(ctx, nil, args)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return said.lines, err
}

// collector keeps lines.
type collector struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (c *collector) add(_, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, text)
}

// buildKitVersion is what `docker buildx inspect` says of a builder that runs,
// or empty.
func buildKitVersion(said []string) string {
	for _, line := range said {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "BuildKit version:"); ok {
			return strings.TrimPrefix(strings.TrimSpace(version), "v")
		}
	}
	return ""
}

// checkVersion refuses a builder that is too old. One that does not tell its
// version was made by hand, and is trusted.
func checkVersion(name, version string) error {
	if version == "" || !older(version, images.MinBuildKit) {
		return nil
	}
	fix := "make it anew: docker buildx rm " + name
	if name == defaultBuilder {
		fix = "update Docker, or state `registry.platforms`, so that a builder of its own is used"
	}
	return &images.OldEngineError{Engine: "docker's builder " + name, Version: version, Fix: fix}
}

// older compares "major.minor.patch" as numbers; what follows them does not count.
func older(a, b string) bool {
	x, y := numbers(a), numbers(b)
	for i := range x {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}

func numbers(version string) (n [3]int) {
	for i, part := range strings.SplitN(version, ".", 3) {
		end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' })
		if end >= 0 {
			part = part[:end]
		}
		n[i], _ = strconv.Atoi(part) // no number counts as zero: old
	}
	return n
}

// configDir is where docker keeps its settings, and the list of builders: who
// shares it shares them.
func configDir() string {
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return os.TempDir()
	}
	return filepath.Join(home, ".docker")
}

func absent(said []string) bool {
	return strings.Contains(strings.Join(said, "\n"), fmt.Sprintf("no builder %q found", ownBuilder))
}
