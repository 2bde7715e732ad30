package buildkit_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"toa.io/toa/images"
	"toa.io/toa/internal/enginetest"
	"toa.io/toa/orchestrator"
)

// Whichever builder makes it, the image of a recipe is the same: its files,
// modes, links, owners and times, and what it is told to run.
func TestSameImageAsNative(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step := b.composition(t, "one", map[string]string{"store-goods": goods(t), "store-orders": orders(t)})
	natively := step
	natively.Reference.Tag = "native"
	got, want := b.publish(t, b.builder, step), b.publish(t, b.native, natively)
	sameImages(t, got, want)
	if said := b.said(); !strings.Contains(said, "composition/edge [") {
		t.Errorf("the image's events do not tell of its steps: %q", said)
	}
}

// An image that starts from nothing has no layer below its own, and the PATH
// that engines give it.
func TestSameFromScratchAsNative(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step := scratch(t, goods(t))
	step.Reference.Repository = b.registry + "/shop/composition-edge"
	natively := step
	natively.Reference.Tag = "native"
	made, want := pull(t, b.publish(t, b.builder, step), host), pull(t, b.publish(t, b.native, natively), host)
	sameMaps(t, "files", content(t, made), content(t, want))
	got := configOf(t, made).Config
	got.ArgsEscaped = false // it means something on Windows only
	if !reflect.DeepEqual(got, configOf(t, want).Config) || len(got.Env) == 0 {
		t.Errorf("config:\n got %+v\nwant %+v", got, configOf(t, want).Config)
	}
}

// A service's package may bring a .dockerignore: what was hashed is copied,
// whatever it says (C82).
func TestSameServiceAsNative(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step := b.composition(t, "one", map[string]string{"": goods(t)})
	step.ID, step.Recipe.Kind, step.Recipe.Workdir = "service/exposition-gateway", "service", "/service"
	natively := step
	natively.Reference.Tag = "native"
	sameImages(t, b.publish(t, b.builder, step), b.publish(t, b.native, natively))
}

// More members than an image may have layers.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dir, members := orders(t), map[string]string{}
	for i := range 130 {
		members["member-"+string(rune('a'+i/26))+string(rune('a'+i%26))] = dir
	}
	step := b.composition(t, "many", members)
	step.ID = orchestrator.Mono
	natively := step
	natively.Reference.Tag = "native"
	sameImages(t, b.publish(t, b.builder, step), b.publish(t, b.native, natively))
}

func sameImages(t *testing.T, got, want orchestrator.Result) {
	t.Helper()
	engine, native := pull(t, got, host), pull(t, want, host)
	sameMaps(t, "files", content(t, engine), content(t, native))
	g, w := configOf(t, engine), configOf(t, native)
	g.Config.ArgsEscaped = w.Config.ArgsEscaped // it means something on Windows only
	if !reflect.DeepEqual(g.Config, w.Config) {
		t.Errorf("config:\n got %+v\nwant %+v", g.Config, w.Config)
	}
	if g.OS != w.OS || g.Architecture != w.Architecture || g.Variant != w.Variant || !g.Created.Equal(w.Created.Time) {
		t.Errorf("config: got %s/%s of %s, want %s/%s of %s", g.OS, g.Architecture, g.Created, w.OS, w.Architecture, w.Created)
	}
	if lowest(t, engine) != lowest(t, native) {
		t.Errorf("the base's layer is %s, want %s", lowest(t, engine), lowest(t, native))
	}
}

// lowest is the layer of the base.
func lowest(t *testing.T, image v1.Image) v1.Hash {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := layers[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// A composition stands on what was built and published before it, and the
// engine does not send what the registry has.
func TestCompositionOnDependencies(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dependencies := b.dependencies(t, "one", "echo installed > /composition/installed")
	below := b.publish(t, b.builder, dependencies)
	step := on(dependencies, b.composition(t, "one", map[string]string{"store-goods": goods(t)}))
	made := pull(t, b.publish(t, b.builder, step, below), host)
	got := content(t, made)
	for path, want := range map[string]string{"composition/installed": `"installed\n"`, "composition/store-goods/a.js": `"1"`} {
		if !strings.HasSuffix(got[path], want) {
			t.Errorf("%s: got %s, want %s", path, got[path], want)
		}
	}
	if cmd := configOf(t, made).Config.Cmd; cmd[2] != step.Recipe.Cmd {
		t.Errorf("Cmd = %q, want %q", cmd, step.Recipe.Cmd)
	}
	if b.blobs.Has(lowest(t, made).String(), sizeOf(t, made)) {
		t.Error("the base's layer was sent here, which the registry has")
	}
}

func sizeOf(t *testing.T, image v1.Image) int64 {
	t.Helper()
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return manifest.Layers[0].Size
}

// Without a registry the engine is handed what the image stands on.
func TestWithoutRegistry(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	layout := &images.Layout{Dir: t.TempDir(), Blobs: b.blobs}
	b.native.Layout = layout
	dependencies := b.dependencies(t, "one", "echo installed > /composition/installed")
	dependencies.Reference.Repository = "shop/composition-edge"
	artifact := b.build(t, b.builder, dependencies)
	digest, err := layout.Publish(t.Context(), dependencies, artifact)
	if err != nil {
		t.Fatal(err)
	}
	below := orchestrator.Result{ID: dependencies.ID, Reference: dependencies.Reference, Artifact: artifact}
	below.Reference.Digest = digest
	step := on(dependencies, b.composition(t, "one", map[string]string{"store-goods": goods(t)}))
	step.Reference.Repository = "shop/composition-edge"
	first := b.build(t, b.builder, step, below)
	below.Artifact = nil // as of another run
	again := b.build(t, b.builder, step, below)
	if first.Digest() != again.Digest() {
		t.Errorf("on what was published before: %s, want %s", again.Digest(), first.Digest())
	}
	if _, err := layout.Publish(t.Context(), step, again); err != nil {
		t.Fatal(err)
	}
	based := b.composition(t, "two", map[string]string{"store-orders": orders(t)})
	based.Recipe.Base, based.Recipe.Digests = "oci-layout://"+filepath.Join(layout.Dir, "shop/composition-edge"), []string{digest}
	if artifact := b.build(t, b.builder, based); artifact.Digest() == digest {
		t.Error("nothing was copied")
	}
}

// The same step gives the same bytes in any engine, with any cache here.
func TestReproducible(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := newBenchAt(t, enginetest.Start(t).Address)
	other.registry = b.registry
	dir := goods(t)
	build := func(b *bench) string {
		dependencies := b.dependencies(t, "one", "mkdir -p /opt && date > /dev/null && echo made > /opt/made")
		below := b.publish(t, b.builder, dependencies)
		step := on(dependencies, b.composition(t, "one", map[string]string{"store-goods": dir}))
		return below.Reference.Digest + " " + b.build(t, b.builder, step, below).Digest()
	}
	if one, two := build(b), build(other); one != two {
		t.Errorf("in two engines: %s and %s", one, two)
	}
}

// A file that is replaced by one of the same size and time is another (C03,
// moby/buildkit#4950), and so is any other file of the image (C07).
func TestEveryFileMatters(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dir := t.TempDir()
	set := files{"a/one.bin": "1111", "b/two.bin": "2222", ".three": "3", "z/last/four": "4444"}
	set.write(t, dir)
	at, err := os.Stat(filepath.Join(dir, "a/one.bin"))
	if err != nil {
		t.Fatal(err)
	}
	changed := maps.Clone(set)
	for path, text := range set {
		changed[path] = strings.Repeat("x", len(text))
		full := filepath.Join(dir, path)
		if err := os.WriteFile(full, []byte(changed[path]), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(full, at.ModTime(), at.ModTime()); err != nil {
			t.Fatal(err)
		}
		made := content(t, pull(t, b.publish(t, b.builder, b.composition(t, "of-"+filepath.Base(path), map[string]string{"store-goods": dir})), host))
		for path, want := range changed {
			if got := made["composition/store-goods/"+path]; !strings.HasSuffix(got, `"`+want+`"`) {
				t.Errorf("%s: got %s, want %q", path, got, want)
			}
		}
	}
}

// Two images whose files look alike are built at once: none gets the other's.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	texts := []string{"aaaa", "bbbb", "cccc"}
	steps := make([]orchestrator.Step, len(texts))
	for i, text := range texts {
		steps[i] = b.composition(t, text, map[string]string{"store-goods": files{"same.bin": text, "dir/same.bin": text}.write(t, t.TempDir())})
		steps[i].ID, steps[i].Reference.Repository = "composition/edge", b.registry+"/shop/edge"
	}
	results := make([]orchestrator.Result, len(texts))
	var group sync.WaitGroup
	for i, step := range steps {
		group.Go(func() {
			artifact, err := b.builder.Build(t.Context(), step, nil)
			if err != nil {
				t.Errorf("Build(%s): %v", step.Reference.Tag, err)
				return
			}
			results[i] = orchestrator.Result{Artifact: artifact}
		})
	}
	group.Wait()
	for i, text := range texts {
		if t.Failed() {
			return
		}
		digest, err := b.remote.Publish(t.Context(), steps[i], results[i].Artifact)
		if err != nil {
			t.Fatal(err)
		}
		steps[i].Reference.Digest = digest
		got := content(t, pull(t, orchestrator.Result{Reference: steps[i].Reference}, host))
		for _, path := range []string{"same.bin", "dir/same.bin"} {
			if !strings.HasSuffix(got["composition/store-goods/"+path], `"`+text+`"`) {
				t.Errorf("image %s holds %s", text, got["composition/store-goods/"+path])
			}
		}
	}
}

// What nothing runs in is built for any platform anywhere.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	platforms := []string{"linux/amd64", "linux/arm64"}
	step := b.composition(t, "one", map[string]string{"store-goods": goods(t)})
	step.Recipe.Base = enginetest.Base(t, b.registry, platforms...)
	step.Recipe.Platforms = platforms
	b.resolve(t, &step.Recipe)
	natively := step
	natively.Reference.Tag = "native"
	made, want := b.publish(t, b.builder, step), b.publish(t, b.native, natively)
	for _, platform := range platforms {
		got := pull(t, made, platform)
		sameMaps(t, platform, content(t, got), content(t, pull(t, want, platform)))
		if file := configOf(t, got); file.OS+"/"+file.Architecture != platform {
			t.Errorf("the image for %s is for %s/%s", platform, file.OS, file.Architecture)
		}
	}
}

// A template of the workspace is followed.
func TestOwnTemplate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step := b.composition(t, "own", map[string]string{"store-goods": goods(t)})
	step.Recipe.Template = "FROM {{ .Base }}\nWORKDIR {{ .Workdir }}\n{{ range .Copies }}COPY {{ .Label }} {{ .Label }}\n{{ end }}RUN echo own > /own\nUSER 1000\nCMD {{ .Cmd }}\n"
	made := pull(t, b.publish(t, b.builder, step), host)
	if got := content(t, made)["own"]; !strings.HasSuffix(got, `"own\n"`) {
		t.Errorf("/own: %s", got)
	}
	if user := configOf(t, made).Config.User; user != "1000" {
		t.Errorf("User = %q, want 1000", user)
	}
}

// What an engine keeps in a registry serves another engine, for each image.
func TestRegistryCache(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.builder.Cache = "type=registry,ref=" + b.registry + "/shop/buildcache"
	one := b.dependencies(t, "one", "echo one > /one")
	two := b.dependencies(t, "two", "echo two > /two")
	two.ID = "dependencies/rear"
	want := []string{b.build(t, b.builder, one).Digest(), b.build(t, b.builder, two).Digest()}

	other := newBenchAt(t, enginetest.Start(t).Address)
	other.builder.Cache = b.builder.Cache
	for i, step := range []orchestrator.Step{one, two} {
		if got := other.build(t, other.builder, step).Digest(); got != want[i] {
			t.Errorf("%s: got %s, want %s", step.ID, got, want[i])
		}
		if said := other.said(); !strings.Contains(said, step.Recipe.Runs[0].Line+": cached") {
			t.Errorf("%s: its line was not found in the cache:\n%s", step.ID, said)
		}
	}
}

// A damaged cache here costs time only.
func TestDamagedCache(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step := b.dependencies(t, "one", "echo one > /one")
	want := b.build(t, b.builder, step).Digest()
	for digest, damage := range map[string]func(string) error{
		manifestLayer(t, b, want): func(path string) error { return os.Truncate(path, 3) },
	} {
		path, err := b.blobs.Path(digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := damage(path); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.publish(t, b.builder, step).Reference.Digest; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// manifestLayer is the uppermost layer of an image in the cache.
func manifestLayer(t *testing.T, b *bench, digest string) string {
	t.Helper()
	raw, err := b.blobs.Bytes(digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := v1.ParseManifest(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return manifest.Layers[len(manifest.Layers)-1].Digest.String()
}
