package docker_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/images/docker"
	"toa.io/toa/internal/treetest"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

type files treetest.Files

func (f files) write(t testing.TB, dir string) string {
	t.Helper()
	return treetest.Files(f).Write(t, dir)
}

var tree = treetest.Tree

// composition is the step of an image of one member, from scratch.
func composition(t testing.TB, member files) orchestrator.Step {
	t.Helper()
	dir := member.write(t, t.TempDir())
	return orchestrator.Step{
		ID: "composition/edge",
		Recipe: templates.Recipe{
			Kind: "composition", Base: templates.Scratch, Platforms: []string{"linux/amd64"},
			Env: []string{"NODE_ENV=production"}, Workdir: "/composition", Cmd: "toa compose *",
			Copies: []templates.Copy{{Label: "store-orders"}},
		},
		Sources:   []orchestrator.Source{{Label: "store-orders", Component: "store.orders", Dir: dir, Tree: tree(t, dir)}},
		Reference: orchestrator.Reference{Repository: "registry.test/shop/composition-edge", Tag: "t"},
	}
}

// dependencies is the step of a dependencies image with a .npmrc and an
// argument.
func dependencies(t testing.TB, base, digest string) orchestrator.Step {
	t.Helper()
	member := files{"package.json": `{"name":"x"}`, "package-lock.json": `{"packages":{}}`, ".npmrc": "//npm.test/:_authToken=canary-npmrc\n"}
	digests := map[string]string{}
	for name, content := range member {
		digests[name] = cache.Digest([]byte(content)).String()
	}
	return orchestrator.Step{
		ID: "dependencies/edge",
		Recipe: templates.Recipe{
			Kind: "dependencies", Base: base, Digests: []string{digest}, Platforms: []string{"linux/amd64"},
			Env: []string{"NODE_ENV=production"}, Workdir: "/composition", Arguments: []string{"CANARY_TOKEN"},
			Installs: []templates.Install{{
				Label: "store-orders", Package: digests["package.json"], Lock: digests["package-lock.json"],
				LockName: "package-lock.json", Config: digests[".npmrc"], Scripts: "run",
			}},
			Runs: []templates.Run{{Line: "make all", Owner: "store.orders"}},
		},
		Sources:   []orchestrator.Source{{Label: "store-orders", Component: "store.orders", Dir: member.write(t, t.TempDir())}},
		Reference: orchestrator.Reference{Repository: "registry.test/shop/composition-edge", Tag: "deps-t"},
	}
}

// bench is what a run has: a cache and a builder with a recording docker in
// front.
type bench struct {
	dir     string
	blobs   *cache.Blobs
	builder *docker.Builder
	seen    *observer
}

// newBench makes a docker of a shell script, which runs after its arguments
// were recorded.
func newBench(t testing.TB, script string) *bench {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	b := &bench{dir: t.TempDir(), seen: &observer{}}
	var err error
	if b.blobs, err = cache.OpenBlobs(filepath.Join(b.dir, "cache")); err != nil {
		t.Fatal(err)
	}
	files{"docker": "x:#!/bin/sh\ncd '" + b.dir + "'\n{ printf '%s\\n' \"$*\"; } >> calls\n" + script}.write(t, b.dir)
	b.builder = &docker.Builder{Blobs: b.blobs, Docker: filepath.Join(b.dir, "docker"), Observe: b.seen.observe}
	return b
}

// engine is a docker that has a builder, and builds what stands in archive.tar
// after it has kept the context aside.
const engine = `
case "$*" in
*"buildx inspect"*) echo "Name: toa"; echo "BuildKit version: v0.34.2";;
*"buildx build"*)
	while [ $# -gt 0 ]; do
		case "$1" in --file) file=$2; context=$3;; esac
		shift
	done
	cp -a "${file%/*}" kept; mv "kept/${context##*/}" kept/context
	echo '#1 [internal] load build definition' >&2
	cat archive.tar;;
esac
`

// archive puts the archive of an image aside for the script to give out.
func (b *bench) archive(t testing.TB, step orchestrator.Step) *images.Image {
	t.Helper()
	native := &images.Native{Blobs: b.blobs, Client: &images.Client{}}
	built, err := native.Build(t.Context(), step, nil)
	if err != nil {
		t.Fatal(err)
	}
	layout := &images.Layout{Dir: filepath.Join(b.dir, "layout"), Blobs: b.blobs}
	if _, err := layout.Publish(t.Context(), step, built); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(b.dir, "archive.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	if err := layout.Export(t.Context(), step.Reference, out); err != nil {
		t.Fatal(err)
	}
	return built.(*images.Image)
}

// calls are the argument lists so far, with directories that differ from run
// to run replaced.
func (b *bench) calls(t testing.TB) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`/\S*/cache/tmp/docker-\d+`).ReplaceAllString(string(raw), "DIR")
	return regexp.MustCompile(`DIR/[0-9a-f]{32}-\d+`).ReplaceAllString(text, "DIR/CONTEXT")
}

func (b *bench) left(t testing.TB) {
	t.Helper()
	left, err := os.ReadDir(filepath.Join(b.dir, "cache", "tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

type observer struct {
	mu     sync.Mutex // guards events
	events []orchestrator.Event
}

func (o *observer) observe(e orchestrator.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, e)
}

// text is all output of all images.
func (o *observer) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all strings.Builder
	for _, e := range o.events {
		if log, ok := e.(orchestrator.LogEvent); ok {
			all.WriteString(string(log.ID) + " " + log.Stream + ": " + log.Text + "\n")
		}
	}
	return all.String()
}

// notices are those of the builder itself.
func (o *observer) notices() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []string
	for _, e := range o.events {
		if notice, ok := e.(orchestrator.NoticeEvent); ok {
			all = append(all, notice.Text)
		}
	}
	return all
}

// listing is what is below a directory: modes, times, contents.
func listing(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		line := info.Mode().String() + " " + info.ModTime().UTC().Format("2006") + " " + rel
		if target, err := os.Readlink(path); err == nil {
			line += " -> " + target
		}
		all = append(all, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

func golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n got %s\nwant %s", name, got, want)
	}
}

func readAll(t testing.TB, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
