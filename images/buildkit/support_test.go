package buildkit_test

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/images/buildkit"
	"toa.io/toa/internal/enginetest"
	"toa.io/toa/internal/treetest"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// host is this machine's platform.
var host = "linux/" + runtime.GOARCH

// TestMain keeps engines' clients from the docker config of who runs the tests.
func TestMain(m *testing.M) {
	if err := os.Setenv("DOCKER_CONFIG", filepath.Join(os.TempDir(), "there-is-none")); err != nil {
		log.Fatal(err)
	}
	m.Run()
}

// anonymous does the same for what goes to registries from here.
type anonymous struct{}

func (anonymous) Resolve(authn.Resource) (authn.Authenticator, error) { return authn.Anonymous, nil }

// bench is what a run of toa has.
type bench struct {
	registry string // the host
	blobs    *cache.Blobs
	native   *images.Native
	remote   *images.Remote
	builder  *buildkit.Builder

	mu  sync.Mutex // guards log
	log []string
}

// newBench is one on the engine that tests share, with a registry and a cache
// of its own.
func newBench(t testing.TB) *bench {
	t.Helper()
	return newBenchAt(t, enginetest.BuildKit(t))
}

func newBenchAt(t testing.TB, address string) *bench {
	t.Helper()
	blobs, err := cache.OpenBlobs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	client := &images.Client{Keychain: anonymous{}}
	b := &bench{
		registry: enginetest.Registry(t), blobs: blobs,
		native: &images.Native{Blobs: blobs, Client: client},
		remote: &images.Remote{Blobs: blobs, Client: client},
	}
	b.builder = &buildkit.Builder{Images: b.native, Address: address, Observe: b.observe}
	return b
}

func (b *bench) observe(e orchestrator.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := e.(type) {
	case orchestrator.LogEvent:
		b.log = append(b.log, string(e.ID)+" "+e.Text)
	case orchestrator.NoticeEvent:
		b.log = append(b.log, "notice: "+e.Text)
	}
}

// said is what the engine said since it was last asked.
func (b *bench) said() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := strings.Join(b.log, "\n")
	b.log = nil
	return text
}

// resolve pins the base of a recipe, as a lock does.
func (b *bench) resolve(t testing.TB, r *templates.Recipe) {
	t.Helper()
	resolver := &images.Resolver{Client: b.native.Client, Blobs: b.blobs}
	r.Digests = nil
	for _, platform := range r.Platforms {
		digest, err := resolver.Resolve(t.Context(), r.Base, platform)
		if err != nil {
			t.Fatal(err)
		}
		r.Digests = append(r.Digests, digest)
	}
}

func (b *bench) build(t testing.TB, with orchestrator.Builder, step orchestrator.Step, deps ...orchestrator.Result) orchestrator.Artifact {
	t.Helper()
	artifact, err := with.Build(t.Context(), step, deps)
	if err != nil {
		t.Fatalf("Build(%s): %v\n%s", step.ID, err, b.said())
	}
	return artifact
}

// publish builds and publishes, and returns what dependents are given.
func (b *bench) publish(t testing.TB, with orchestrator.Builder, step orchestrator.Step, deps ...orchestrator.Result) orchestrator.Result {
	t.Helper()
	artifact := b.build(t, with, step, deps...)
	digest, err := b.remote.Publish(t.Context(), step, artifact)
	if err != nil {
		t.Fatalf("Publish(%s): %v", step.Reference, err)
	}
	if digest != artifact.Digest() {
		t.Fatalf("Publish(%s) = %s, want %s", step.Reference, digest, artifact.Digest())
	}
	reference := step.Reference
	reference.Digest = digest
	return orchestrator.Result{ID: step.ID, Reference: reference, Artifact: artifact}
}

// pull reads what is published, for one platform.
func pull(t testing.TB, r orchestrator.Result, platform string) v1.Image {
	t.Helper()
	ref, err := name.ParseReference(r.Reference.Repository + "@" + r.Reference.Digest)
	if err != nil {
		t.Fatal(err)
	}
	p, err := v1.ParsePlatform(platform)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(ref, remote.WithPlatform(*p))
	if err != nil {
		t.Fatalf("pull %s: %v", ref, err)
	}
	return image
}

type files treetest.Files

// write gives files modes that no image may show.
func (f files) write(t testing.TB, dir string) string {
	t.Helper()
	return treetest.Files(f).WriteModes(t, dir, 0o600, 0o777)
}

var tree = treetest.Tree

// goods and orders are two members.
func goods(t testing.TB) string {
	return files{
		"manifest.toa.yaml": "name: goods\n", "operations/transit.js": "exports.run = 1\n", "bin/start": "x:#!/bin/sh\necho go\n",
		"link": "->operations/transit.js", "a.js": "1", "a/b.js": "2", "a-b.js": "3", ".hidden": "", ".dockerignore": "**/*.js\n",
		"node/Dockerfile": "FROM scratch\n", "name with spaces": "and [brackets]*", "größe.txt": "ü",
	}.write(t, t.TempDir())
}

func orders(t testing.TB) string {
	return files{"manifest.toa.yaml": "name: orders\n", "package.json": "{}"}.write(t, t.TempDir())
}

// composition is a step that copies directories, by label.
func (b *bench) composition(t testing.TB, tag string, dirs map[string]string) orchestrator.Step {
	t.Helper()
	s := orchestrator.Step{
		ID: "composition/edge",
		Recipe: templates.Recipe{
			Kind: "composition", Base: enginetest.Base(t, b.registry), Platforms: []string{host},
			Env: []string{"NODE_ENV=production"}, Workdir: "/composition", Cmd: "toa compose * --map /etc/toa/components.json",
		},
		Reference: orchestrator.Reference{Repository: b.registry + "/shop/composition-edge", Tag: tag},
	}
	for _, label := range sorted(dirs) {
		s.Recipe.Copies = append(s.Recipe.Copies, templates.Copy{Label: label})
		s.Sources = append(s.Sources, source(t, label, dirs[label]))
	}
	b.resolve(t, &s.Recipe)
	return s
}

func source(t testing.TB, label, dir string) orchestrator.Source {
	t.Helper()
	return orchestrator.Source{Label: label, Component: strings.Replace(label, "-", ".", 1), Dir: dir, Tree: tree(t, dir)}
}

// dependencies is a step that runs lines on the busybox base.
func (b *bench) dependencies(t testing.TB, tag string, lines ...string) orchestrator.Step {
	t.Helper()
	s := orchestrator.Step{
		ID: "dependencies/edge",
		Recipe: templates.Recipe{
			Kind: "dependencies", Base: enginetest.Base(t, b.registry), Platforms: []string{host},
			Env: []string{"NODE_ENV=production"}, Workdir: "/composition",
		},
		Reference: orchestrator.Reference{Repository: b.registry + "/shop/composition-edge", Tag: "deps-" + tag},
	}
	for _, line := range lines {
		s.Recipe.Runs = append(s.Recipe.Runs, templates.Run{Line: line, Owner: "store.goods"})
	}
	b.resolve(t, &s.Recipe)
	return s
}

// on is a composition on a dependencies image.
func on(dependencies, composition orchestrator.Step) orchestrator.Step {
	composition.Recipe.Base, composition.Recipe.Digests, composition.Recipe.Env = string(dependencies.ID), nil, nil
	return composition
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// content is what an image holds: for each path its mode, kind, owner, time and
// bytes, the upper layer's where several have it.
func content(t testing.TB, image v1.Image) map[string]string {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	return contentOf(t, layers)
}

func contentOf(t testing.TB, layers []v1.Layer) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, layer := range layers {
		body, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		add(t, all, body)
	}
	return all
}

func add(t testing.TB, all map[string]string, body io.ReadCloser) {
	t.Helper()
	defer func() { _ = body.Close() }()
	for archive := tar.NewReader(body); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 64<<10 {
			data = fmt.Appendf(nil, "%x", sha256.Sum256(data)) // programs: too long to look at
		}
		all[strings.TrimSuffix(header.Name, "/")] = fmt.Sprintf("%c %o %d:%d at %d ->%s %q",
			header.Typeflag, header.Mode&0o7777, header.Uid, header.Gid, header.ModTime.Unix(), header.Linkname, data)
	}
}

func configOf(t testing.TB, image v1.Image) *v1.ConfigFile {
	t.Helper()
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// hint is what an error says to whoever can fix it.
func hint(err error) string {
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	return ""
}

func sameMaps(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	for _, key := range sorted(want) {
		if got[key] != want[key] {
			t.Errorf("%s: %s:\n got %.300s\nwant %.300s", what, key, got[key], want[key])
		}
	}
	for _, key := range sorted(got) {
		if _, ok := want[key]; !ok {
			t.Errorf("%s: %s: got %.300s, want nothing", what, key, got[key])
		}
	}
}
