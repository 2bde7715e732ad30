package images_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

// Two images of one step are compared, one of which is in a registry: what of
// files and config differs is named, and nothing else.
func TestCompareNamesWhatDiffers(t *testing.T) {
	before := files{"index.js": "1", "lib/a.js": "a", "lib/run.sh": "x:#!", "to": "->index.js", "gone/x.js": "x"}
	for name, row := range map[string]struct {
		now    files
		change func(*orchestrator.Step)
		want   []string
	}{
		"nothing":         {before, nil, nil},
		"content":         {files{"index.js": "2"}, nil, []string{"layer 1 /composition/store/index.js: content"}},
		"a mode":          {files{"lib/a.js": "x:a"}, nil, []string{"layer 1 /composition/store/lib/a.js: mode"}},
		"a link":          {files{"to": "->lib/a.js"}, nil, []string{"layer 1 /composition/store/to: link"}},
		"a new directory": {files{"new/b.js": "b"}, nil, []string{"layer 1 /composition/store/new/b.js: only rebuilt"}},
		"a kind":          {files{"to": "1"}, nil, []string{"layer 1 /composition/store/to: kind"}},
		"a variable": {before, func(s *orchestrator.Step) { s.Recipe.Env = []string{"NODE_ENV=test", "TOKEN=canary"} }, []string{
			"linux/amd64 config config.Env[NODE_ENV]: value", "linux/amd64 config config.Env[TOKEN]: only rebuilt",
		}},
		"the command": {before, func(s *orchestrator.Step) { s.Recipe.Cmd = "toa serve ." }, []string{"linux/amd64 config config.Cmd[2]: value"}},
		"a time": {before, func(s *orchestrator.Step) { s.Recipe.Epoch = 1 }, []string{
			"layer 1 /composition: time", "layer 1 /composition/store/gone/x.js: time", "linux/amd64 config created: value", "linux/amd64 config history[0].created: value",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			reg := newRegistry(t)
			b := newBench(t, t.TempDir())
			dir := before.write(t, t.TempDir())
			published := step(t, reg.host+"/shop/composition-edge", "one", map[string]string{"store": dir})
			digest := b.publish(t, b.remote, published, b.build(t, published))

			other := newBench(t, t.TempDir()) // nothing of the published image is at hand
			edited := files{}
			for path, text := range before {
				edited[path] = text
			}
			for path, text := range row.now {
				edited[path] = text
			}
			rebuilt := step(t, reg.host+"/shop/composition-edge", "one", map[string]string{"store": edited.write(t, t.TempDir())})
			if row.change != nil {
				row.change(&rebuilt)
			}
			got := other.compare(t, rebuilt, digest, other.build(t, rebuilt))
			if name == "a time" { // of every file
				got = slices.DeleteFunc(got, func(d string) bool { return !slices.Contains(row.want, d) })
			}
			same(t, "differences", got, row.want)
			if strings.Contains(strings.Join(got, "\n"), "canary") {
				t.Errorf("a value is told: %q", got)
			}
		})
	}
}

func (b *bench) compare(t *testing.T, s orchestrator.Step, digest string, made *images.Image) []string {
	t.Helper()
	comparer := &images.Comparer{Blobs: b.blobs, Client: b.client}
	published, err := comparer.Published(t.Context(), s, digest)
	if err != nil {
		t.Fatal(err)
	}
	differences, err := comparer.Compare(t.Context(), published, made)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, d := range differences {
		all = append(all, d.String())
	}
	return all
}

// What all platforms share is read and told once; what only one image has of a
// platform or a layer is told as such.
func TestComparePlatformsAndLayers(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	dirs := map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir()), "b": files{"index.js": "2"}.write(t, t.TempDir())}
	one := step(t, reg.host+"/shop/composition-edge", "one", map[string]string{"a": dirs["a"]})
	one.Recipe.Platforms = []string{"linux/amd64", "linux/arm64"}
	digest := b.publish(t, b.remote, one, b.build(t, one))

	two := step(t, reg.host+"/shop/composition-edge", "one", map[string]string{"a": files{"index.js": "x"}.write(t, t.TempDir()), "b": dirs["b"]})
	two.Recipe.Platforms = []string{"linux/amd64", "linux/arm/v7", "linux/arm64"}
	reg.requests()
	got := b.compare(t, two, digest, b.build(t, two))
	same(t, "differences", got, []string{
		"linux/arm/v7 manifest: only rebuilt",
		"layer 1 /composition/a/index.js: content",
		"linux/amd64 layer 2: only rebuilt",
		"linux/amd64 config history[1].author: only rebuilt",
		"linux/amd64 config history[1].created: only rebuilt",
		"linux/amd64 config history[1].created_by: only rebuilt",
		"linux/arm64 layer 2: only rebuilt",
		"linux/arm64 config history[1].author: only rebuilt",
		"linux/arm64 config history[1].created: only rebuilt",
		"linux/arm64 config history[1].created_by: only rebuilt",
	})
	blobs := 0
	for _, line := range reg.requests() {
		if line == "GET blob" {
			blobs++
		}
	}
	same(t, "layers that were fetched", blobs, 1)
}

// A layout is a place to publish like any other.
func TestCompareWithLayout(t *testing.T) {
	b := newBench(t, t.TempDir())
	layout := &images.Layout{Dir: t.TempDir(), Blobs: b.blobs}
	one := step(t, "shop/composition-edge", "one", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
	digest := b.publish(t, layout, one, b.build(t, one))
	two := step(t, "shop/composition-edge", "one", map[string]string{"a": files{"index.js": "2"}.write(t, t.TempDir())})
	comparer := &images.Comparer{Blobs: b.blobs, Layout: layout}
	published, err := comparer.Published(t.Context(), two, digest)
	if err != nil {
		t.Fatal(err)
	}
	differences, err := comparer.Compare(t.Context(), published, b.build(t, two))
	if err != nil || len(differences) != 1 || differences[0].Path != "/composition/a/index.js" {
		t.Errorf("Compare: %v, %v", differences, err)
	}
}

// An image is made anew when that is asked for, whatever layers are kept: here
// one that is not what its key says.
func TestAnewMeansAnew(t *testing.T) {
	dir := t.TempDir()
	b := newBench(t, dir)
	s := step(t, "registry.test/shop/composition-edge", "one", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
	right := b.build(t, s).Digest()
	before := layerKeys(t, dir)
	b.build(t, step(t, "registry.test/shop/composition-edge", "one", map[string]string{"a": files{"index.js": "2"}.write(t, t.TempDir())}))
	for _, key := range layerKeys(t, dir) {
		if key == before[0] {
			continue
		}
		if other, err := b.blobs.Layer(key); err != nil || b.blobs.PutLayer(before[0], other) != nil {
			t.Fatal("the layer is not kept")
		}
	}
	if b.build(t, s).Digest() == right {
		t.Fatal("the kept layer was not taken: this test shows nothing")
	}
	s.Anew = true
	if got := b.build(t, s).Digest(); got != right {
		t.Errorf("anew: got %s, want %s", got, right)
	}
	s.Anew = false
	if got := b.build(t, s).Digest(); got != right {
		t.Errorf("afterwards: got %s, want %s: what was made anew is kept", got, right)
	}
}

// layerKeys are the keys that layers are kept under.
func layerKeys(t *testing.T, cacheDir string) []cache.Key {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(cacheDir, "layers"))
	if err != nil {
		t.Fatal(err)
	}
	var keys []cache.Key
	for _, e := range entries {
		var key cache.Key
		if _, err := hex.Decode(key[:], []byte(e.Name())); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	return keys
}
