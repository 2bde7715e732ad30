package images_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

func newLayout(t *testing.T, b *bench) *images.Layout {
	t.Helper()
	to := &images.Layout{Dir: filepath.Join(t.TempDir(), "images"), Blobs: b.blobs}
	b.native.Layout = to
	return to
}

func TestLayoutPublishes(t *testing.T) {
	b := newBench(t, t.TempDir())
	to := newLayout(t, b)
	s := step(t, "shop/composition-edge", "one", map[string]string{"a": everything.write(t, t.TempDir())})
	s.Recipe.Platforms = []string{"linux/amd64", "linux/arm64"}
	image := b.build(t, s)
	if digest := b.publish(t, to, s, image); digest != image.Digest() {
		t.Errorf("Publish: got %s, want %s", digest, image.Digest())
	}
	if got, err := to.Has(t.Context(), s.Reference); got != image.Digest() || err != nil {
		t.Errorf("Has: got %q, %v, want %q", got, err, image.Digest())
	}
	same(t, "traffic", to.Traffic(), orchestrator.Traffic{})
	listed, err := to.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "List", fmt.Sprint(listed), "[shop/composition-edge:one@"+image.Digest()+"]")
}

func TestLayoutKeepsTakenTag(t *testing.T) {
	b := newBench(t, t.TempDir())
	to := newLayout(t, b)
	one := step(t, "shop/x", "t", map[string]string{"a": files{"a": "1"}.write(t, t.TempDir())})
	two := step(t, "shop/x", "t", map[string]string{"a": files{"a": "2"}.write(t, t.TempDir())})
	first := b.publish(t, to, one, b.build(t, one))
	if got, err := to.Publish(t.Context(), two, b.build(t, two)); got != first || err != nil {
		t.Errorf("Publish on a taken tag: got %q, %v, want %q", got, err, first)
	}
}

func TestLayoutNoticesWhatIsMissing(t *testing.T) {
	for _, row := range []struct {
		name string
		harm func(t *testing.T, dir, blob string)
	}{
		{"blob removed", func(t *testing.T, _, blob string) { remove(t, blob) }},
		{"blob cut", func(t *testing.T, _, blob string) {
			if err := os.Truncate(blob, 3); err != nil {
				t.Fatal(err)
			}
		}},
		{"index removed", func(t *testing.T, dir, _ string) { remove(t, filepath.Join(dir, "index.json")) }},
		{"index damaged", func(t *testing.T, dir, _ string) {
			if err := os.WriteFile(filepath.Join(dir, "index.json"), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, t.TempDir())
			to := newLayout(t, b)
			s := step(t, "shop/x", "t", map[string]string{"a": files{"a": "1"}.write(t, t.TempDir())})
			image := b.build(t, s)
			b.publish(t, to, s, image)
			dir := filepath.Join(to.Dir, "shop", "x")
			layer := manifestOf(t, b, image.Digest()).Layers[0].Digest
			row.harm(t, dir, filepath.Join(dir, "blobs", "sha256", layer.Hex))
			if got, err := to.Has(t.Context(), s.Reference); !errors.Is(err, cache.ErrNotFound) {
				t.Errorf("Has: got %q, %v, want ErrNotFound", got, err)
			}
			b.publish(t, to, s, b.build(t, s))
			same(t, "contents", contents(t, layoutImage(t, dir)), files{"composition/a/a": "1"})
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestLayoutReplacesDamagedLayer(t *testing.T) {
	b := newBench(t, t.TempDir())
	to := newLayout(t, b)
	s := step(t, "shop/x", "t", map[string]string{"a": files{"a": "1"}.write(t, t.TempDir())})
	image := b.build(t, s)
	path, err := b.blobs.Path(manifestOf(t, b, image.Digest()).Layers[0].Digest.String())
	if err != nil {
		t.Fatal(err)
	}
	damage(t, path)
	b.publish(t, to, s, image)
	same(t, "contents", contents(t, layoutImage(t, filepath.Join(to.Dir, "shop", "x"))), files{"composition/a/a": "1"})
}

func TestLayoutTakesBaseLayersIn(t *testing.T) {
	reg := newRegistry(t)
	base := amd64(t, randomImage(t))
	pin := reg.push(t, "base:1", base)
	b := newBench(t, t.TempDir())
	to := newLayout(t, b)
	for i, repository := range []string{"shop/one", "shop/two"} {
		s := step(t, repository, "t", map[string]string{"a": files{"a": "1"}.write(t, t.TempDir())})
		s.Recipe.Base, s.Recipe.Digests = reg.host+"/base:1", []string{pin}
		b.publish(t, to, s, b.build(t, s))
		same(t, "requests: manifest, config, two layers, once", len(reg.requests()), []int{4, 0}[i])
		same(t, "layers", len(contents(t, layoutImage(t, filepath.Join(to.Dir, filepath.FromSlash(repository))))), len(contents(t, base))+1)
	}
}

func TestDependenciesImageFromLayout(t *testing.T) {
	b := newBench(t, t.TempDir())
	to := newLayout(t, b)
	deps := step(t, "shop/x", "deps-1", map[string]string{"modules": files{"a": "1"}.write(t, t.TempDir())})
	digest := b.publish(t, to, deps, b.build(t, deps))

	other := newBench(t, t.TempDir()) // its cache was cleared
	other.native.Layout = &images.Layout{Dir: to.Dir, Blobs: other.blobs}
	s := step(t, "shop/x", "one", map[string]string{"src": files{"b": "2"}.write(t, t.TempDir())})
	image := other.build(t, s, result(deps.ID, deps.Reference, digest, nil))
	other.publish(t, other.native.Layout, s, image)
	same(t, "layers", len(manifestOf(t, other, image.Digest()).Layers), 2)
}

func TestParallelPublishKeepsAllTags(t *testing.T) {
	b := newBench(t, t.TempDir())
	to := newLayout(t, b)
	dir := files{"a": "1"}.write(t, t.TempDir())
	var wait sync.WaitGroup
	for i := range 16 {
		s := step(t, "shop/x", fmt.Sprint("t", i), map[string]string{"a": dir})
		s.Recipe.Env = []string{fmt.Sprint("N=", i)}
		wait.Go(func() {
			image, err := b.native.Build(t.Context(), s, nil)
			if err == nil {
				_, err = to.Publish(t.Context(), s, image)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	listed, err := to.List(t.Context())
	if err != nil || len(listed) != 16 {
		t.Errorf("List: %d images, %v, want 16", len(listed), err)
	}
}

func TestExport(t *testing.T) {
	b := newBench(t, t.TempDir())
	to := newLayout(t, b)
	s := step(t, "shop/x", "t", map[string]string{"a": files{"a": "1"}.write(t, t.TempDir())})
	image := b.build(t, s)
	b.publish(t, to, s, image)
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := to.Export(t.Context(), s.Reference, out); err != nil {
			t.Fatalf("Export: %v", err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two exports differ")
	}
	dir := t.TempDir()
	for _, e := range untar(t, &first) {
		files{e.Name: e.content}.write(t, dir)
	}
	same(t, "contents", contents(t, layoutImage(t, dir)), files{"composition/a/a": "1"})

	absent := orchestrator.Reference{Repository: "shop/x", Tag: "other"}
	if err := to.Export(t.Context(), absent, io.Discard); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Export of what is not there: got %v, want ErrNotFound", err)
	}
}

func TestRepositoryStaysInItsDirectory(t *testing.T) {
	to := &images.Layout{Dir: t.TempDir()}
	for _, name := range []string{"..", "../x", "/x", "a/../../b", "", "."} {
		if _, err := to.Has(t.Context(), orchestrator.Reference{Repository: name, Tag: "t"}); err == nil || errors.Is(err, cache.ErrNotFound) {
			t.Errorf("Has in %q: got %v, want an error", name, err)
		}
	}
}

// Two processes publish to one layout at once.
func TestProcessesShareALayout(t *testing.T) {
	if dir := os.Getenv("TOA_TEST_PUBLISH"); dir != "" {
		publishMany(t, dir)
		return
	}
	dir := t.TempDir()
	var wait sync.WaitGroup
	for i := range 3 {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=TestProcessesShareALayout$")
		child.Env = append(os.Environ(), "TOA_TEST_PUBLISH="+dir, fmt.Sprint("TOA_TEST_NAME=p", i))
		wait.Go(func() {
			if out, err := child.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wait.Wait()
	listed, err := (&images.Layout{Dir: filepath.Join(dir, "images")}).List(t.Context())
	if err != nil || len(listed) != 30 {
		t.Errorf("List: %d images, %v, want 30", len(listed), err)
	}
}

func publishMany(t *testing.T, dir string) {
	b := newBench(t, filepath.Join(dir, "cache"))
	to := &images.Layout{Dir: filepath.Join(dir, "images"), Blobs: b.blobs}
	for i := range 10 {
		name := fmt.Sprint(os.Getenv("TOA_TEST_NAME"), "-", i)
		s := step(t, "shop/x", name, map[string]string{"a": files{"a": strings.Repeat("1", i)}.write(t, t.TempDir())})
		s.Recipe.Env = []string{"N=" + name}
		b.publish(t, to, s, b.build(t, s))
	}
}
