package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// scenario is one row of the table.
type scenario struct {
	name    string
	tree    tree // empty where no workspace is needed
	target  target
	measure func(ctx context.Context, t tools, dir string, runs int) (ours, peer figures, err error)
}

// figures are a side's name and medians.
type figures struct {
	name string
	sample
}

// slug is the name of the scenario's directory.
func (s scenario) slug() string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == ',' || r == '/' {
			return '-'
		}
		return r
	}, s.name)
}

// row makes the scenario's workspace, measures in it and removes it.
func (s scenario) row(ctx context.Context, t tools, dir string, runs int) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make directory: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the next run's generate says so if it is in the way
	if s.tree.components > 0 {
		if err := t.generate(ctx, dir, s.tree); err != nil {
			return "", err
		}
	}
	ours, peer, err := s.measure(ctx, t, dir, runs)
	if err != nil {
		return "", err
	}
	return tableRow(s.name, ours, peer, s.target), nil
}

// workspaceIn and listIn are where a scenario's directory holds its workspace
// and the list of the files in it.
func workspaceIn(dir string) string { return filepath.Join(dir, "workspace") }

func listIn(dir string) string { return filepath.Join(dir, "list") }

// scenarios are the measurements that were promised, or the same on small trees.
func scenarios(quick bool) []scenario {
	few, many, large, source, images, fleet := 1000, 10000, 4<<20, 500, 200, 100
	if quick {
		few, many, large, images, fleet = 50, 200, 256<<10, 20, 10
	}
	return []scenario{
		{
			name:    fmt.Sprintf("no-op, %d components, %d files", few, few*10),
			tree:    tree{components: few, files: 10, commit: true},
			target:  target{ratio: 1.0, rss: 60 << 20},
			measure: measureNoop,
		},
		{
			name:    fmt.Sprintf("no-op, %d components, %d files", many, many*10),
			tree:    tree{components: many, files: 10, commit: true},
			target:  target{ratio: 0.7},
			measure: measureNoop,
		},
		{
			name:    fmt.Sprintf("cold hash, %d small files", many*10),
			tree:    tree{components: many, files: 10},
			target:  target{ratio: 1.7},
			measure: measureColdHash,
		},
		{
			name:    fmt.Sprintf("cold hash, %d MiB in 500 files", 500*large>>20),
			tree:    tree{components: 1, files: 500, size: large},
			target:  target{ratio: 1.2},
			measure: measureLargeHash,
		},
		{
			name:    fmt.Sprintf("push, one changed file of %d", source),
			tree:    tree{components: 1, files: source},
			target:  target{ratio: 0.7, requests: 6},
			measure: measurePush,
		},
		{
			name:    fmt.Sprintf("rebuild, %d compositions", images),
			tree:    tree{components: images, files: 10, members: 1},
			target:  target{ratio: 1.3},
			measure: measureRebuild,
		},
		{
			name:    fmt.Sprintf("push, a changed layer in each of %d images", fleet),
			target:  target{ratio: 0.8, requests: 6 * fleet},
			measure: measureFleet(fleet, 0),
		},
		{
			name:    fmt.Sprintf("push, %d images, 20 ms a request", fleet),
			target:  target{ratio: 0.5, requests: 6 * fleet},
			measure: measureFleet(fleet, 20*time.Millisecond),
		},
		{
			name:    fmt.Sprintf("build and push, a changed layer in each of %d images", fleet),
			tree:    tree{components: fleet, files: 2, members: 1},
			target:  target{ratio: 0.8, requests: 6 * fleet},
			measure: measureWholeFleet(0),
		},
		{
			name:    fmt.Sprintf("build and push, %d images, 20 ms a request", fleet),
			tree:    tree{components: fleet, files: 2, members: 1},
			target:  target{ratio: 0.5, requests: 6 * fleet},
			measure: measureWholeFleet(20 * time.Millisecond),
		},
	}
}

// measureNoop builds a workspace in which nothing changed.
func measureNoop(ctx context.Context, t tools, dir string, runs int) (ours, peer figures, err error) {
	workspace, cache := workspaceIn(dir), filepath.Join(dir, "cache")
	if err := t.buildUnchanged(ctx, workspace, cache); err != nil {
		return ours, peer, err
	}
	return compare(ctx, runs, unwatched,
		side{name: "toa graph build", command: func(int) *exec.Cmd { return t.build(ctx, workspace, cache) }},
		side{name: "git status", command: func(int) *exec.Cmd { return command(ctx, workspace, "git", "status") }})
}

// measureColdHash hashes many files that are in the page cache but not in ours.
func measureColdHash(ctx context.Context, t tools, dir string, runs int) (ours, peer figures, err error) {
	return compare(ctx, runs, unwatched, t.coldHash(ctx, dir),
		side{name: "open, read, close", command: func(int) *exec.Cmd { return t.our(ctx, "openread", listIn(dir)) }})
}

// measureLargeHash hashes few large files.
func measureLargeHash(ctx context.Context, t tools, dir string, runs int) (ours, peer figures, err error) {
	list, err := os.ReadFile(listIn(dir))
	if err != nil {
		return ours, peer, fmt.Errorf("read list: %w", err)
	}
	files := strings.Fields(string(list))
	return compare(ctx, runs, unwatched, t.coldHash(ctx, dir),
		side{name: "b3sum", command: func(int) *exec.Cmd { return command(ctx, "", "b3sum", files...) }})
}

func (t tools) coldHash(ctx context.Context, dir string) side {
	db := filepath.Join(dir, "hash.db")
	return side{
		name:    "toa's cache.Files",
		prepare: func(int) error { return os.RemoveAll(db) },
		command: func(int) *exec.Cmd { return t.our(ctx, "hash", "-db", db, "-C", workspaceIn(dir)) },
	}
}

// measurePush publishes an image in which one source file changed.
func measurePush(ctx context.Context, t tools, dir string, runs int) (ours, peer figures, err error) {
	server, err := t.registry(ctx, 0)
	if err != nil {
		return ours, peer, err
	}
	defer server.end(&err)
	workspace, cache := workspaceIn(dir), filepath.Join(dir, "cache")
	component := filepath.Join(workspace, "components", "bench.c0")
	edit := func(who string) func(int) error {
		return func(i int) error {
			text := fmt.Sprintf("module.exports = '%s %d'\n", who, i)
			return os.WriteFile(filepath.Join(component, "lib", "part3.js"), []byte(text), 0o600)
		}
	}
	build := t.build(ctx, workspace, cache, "--registry", server.address)
	if output, err := build.CombinedOutput(); err != nil { // what is there before the change
		return ours, peer, fmt.Errorf("build workspace: %w\n%s", err, output)
	}
	return compare(ctx, runs, server.requests,
		side{name: "toa graph build", prepare: edit("toa"), command: func(int) *exec.Cmd {
			return t.build(ctx, workspace, cache, "--registry", server.address)
		}},
		side{name: "ggcr remote.Write", prepare: edit("peer"), command: func(i int) *exec.Cmd {
			return t.our(ctx, "remotewrite", "-C", component, fmt.Sprintf("%s/peer/component:%d", server.address, i))
		}})
}

// measureRebuild builds and publishes everything anew, each time where nothing is
// published yet, so that all bytes are sent.
func measureRebuild(ctx context.Context, t tools, dir string, runs int) (ours, peer figures, err error) {
	server, err := t.registry(ctx, 0)
	if err != nil {
		return ours, peer, err
	}
	defer server.end(&err)
	workspace, cache := workspaceIn(dir), filepath.Join(dir, "cache")
	return compare(ctx, runs, server.requests,
		side{name: "toa graph build --rebuild", command: func(i int) *exec.Cmd {
			return t.build(ctx, workspace, cache, "--rebuild", "--registry", fmt.Sprintf("%s/toa%d", server.address, i))
		}},
		side{name: "tar, gzip, upload", command: func(i int) *exec.Cmd {
			return t.our(ctx, "rebuild", "-C", workspace, fmt.Sprintf("%s/peer%d", server.address, i))
		}})
}

// measureFleet publishes many images that are made beforehand, each time where
// nothing of that run is published yet, over a line on which each request takes
// so long.
func measureFleet(images int, delay time.Duration) func(context.Context, tools, string, int) (figures, figures, error) {
	return func(ctx context.Context, t tools, _ string, runs int) (ours, peer figures, err error) {
		server, err := t.registry(ctx, 0)
		if err != nil {
			return ours, peer, err
		}
		defer server.end(&err)
		fleet := func(who string, i int, more ...string) *exec.Cmd {
			more = append(more, "-images", strconv.Itoa(images), "-seed", strconv.Itoa(i), "-delay", delay.String())
			return t.our(ctx, "fleet", append(more, fmt.Sprintf("%s/%s%d", server.address, who, i))...)
		}
		return compare(ctx, runs, unwatched,
			side{name: "toa's images.Remote", timed: true, command: func(i int) *exec.Cmd { return fleet("toa", i) }},
			side{name: "ggcr Pusher", timed: true, command: func(i int) *exec.Cmd { return fleet("peer", i, "-peer") }})
	}
}

// measureWholeFleet packs and publishes a workspace in each of whose images a
// layer of 50 KB has changed, to a registry that each request takes so long to
// reach.
func measureWholeFleet(delay time.Duration) func(context.Context, tools, string, int) (figures, figures, error) {
	return func(ctx context.Context, t tools, dir string, runs int) (ours, peer figures, err error) {
		server, err := t.registry(ctx, delay)
		if err != nil {
			return ours, peer, err
		}
		defer server.end(&err)
		workspace, cache := workspaceIn(dir), filepath.Join(dir, "cache")
		base := server.address + "/bench/base:1"
		publish := func(tag string) *exec.Cmd {
			return t.our(ctx, "remotewrite", "-C", workspace, "-base", base, server.address+"/peer:"+tag)
		}
		if err := standOn(workspace, base); err != nil {
			return ours, peer, err
		}
		if output, err := publish("before").CombinedOutput(); err != nil { // the base too, which toa's first run pins
			return ours, peer, fmt.Errorf("publish workspace: %w\n%s", err, output)
		}
		return compare(ctx, runs, server.requests,
			side{name: "toa graph build", prepare: changeAll(workspace, 1), command: func(int) *exec.Cmd {
				return t.build(ctx, workspace, cache, "--registry", server.address)
			}},
			side{name: "ggcr Pusher", prepare: changeAll(workspace, 2), command: func(i int) *exec.Cmd { return publish(strconv.Itoa(i)) }})
	}
}

// standOn makes another image the base of all that the workspace builds.
func standOn(workspace, base string) error {
	file := filepath.Join(workspace, "context.toa.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read context: %w", err)
	}
	return os.WriteFile(file, bytes.Replace(text, []byte("image: scratch"), []byte("image: "+base), 1), 0o600)
}

// changeAll writes 50 KB that do not compress into each component, others for
// each side in each run.
func changeAll(workspace string, side uint64) func(run int) error {
	return func(run int) error {
		components, err := filepath.Glob(filepath.Join(workspace, "components", "*"))
		if err != nil {
			return err
		}
		random := rand.New(rand.NewPCG(side, uint64(run)))
		data := make([]byte, 50_000)
		for _, dir := range components {
			for i := range data {
				data[i] = byte(random.Uint32())
			}
			if err := os.WriteFile(filepath.Join(dir, "data.bin"), data, 0o600); err != nil {
				return fmt.Errorf("change component: %w", err)
			}
		}
		return nil
	}
}

func compare(ctx context.Context, runs int, watch func(context.Context) (int, error), ours, peer side) (a, b figures, err error) {
	samples, err := interleave(ctx, runs, watch, ours, peer)
	if err != nil {
		return a, b, err
	}
	return figures{ours.name, middle(samples[0])}, figures{peer.name, middle(samples[1])}, nil
}
