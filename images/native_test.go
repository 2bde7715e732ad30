package images_test

import (
	"archive/tar"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"pgregory.net/rapid"
	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// forPlatform makes a random image one for a platform.
func forPlatform(t *testing.T, image v1.Image, os, arch string) v1.Image {
	t.Helper()
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = os, arch
	file.Config.Env = []string{"PATH=/bin", "NODE_ENV=development"}
	file.Config.Entrypoint = []string{"/entry"}
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func amd64(t *testing.T, image v1.Image) v1.Image { return forPlatform(t, image, "linux", "amd64") }

func randomImage(t *testing.T) v1.Image {
	t.Helper()
	image, err := random.Image(500, 2)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

var everything = files{
	"index.js":             "module.exports = 1",
	"bin/run":              "x:#!/bin/sh",
	"lib/deep/er/file.txt": "",
	"lib/link":             "->../index.js",
	"lib-sibling/a":        "sorts between lib and lib/",
	"ünïcode/" + strings.Repeat("n", 90) + "/" + strings.Repeat("m", 120): "long",
	"big.bin": strings.Repeat("0123456789abcdef", 40_000),
}

func TestImageHoldsExactlyTheFiles(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	dir := everything.write(t, t.TempDir())
	s := step(t, reg.host+"/shop/composition-edge", "t", map[string]string{"store-orders": dir})
	s.Sources[0].Tree = s.Sources[0].Tree.With(cache.Generated("package.json", []byte("{}")))
	b.publish(t, b.remote, s, b.build(t, s))

	want := files{"composition/store-orders/package.json": "{}"}
	for path, content := range everything {
		want["composition/store-orders/"+path] = content
	}
	same(t, "files", contents(t, reg.pull(t, reg.host+"/shop/composition-edge:t")), want)
}

// What an image is made of does not depend on defaults of others: one platform is
// a manifest, several are an index of nothing but them, and nothing is attested.
// docker/build-push-action#755
func TestMediaTypes(t *testing.T) {
	b := newBench(t, t.TempDir())
	s := step(t, "registry.test/shop/composition-edge", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
	m := manifestOf(t, b, b.build(t, s).Digest())
	same(t, "types", fmt.Sprint(m.MediaType, " ", m.Config.MediaType, " ", m.Layers[0].MediaType),
		"application/vnd.oci.image.manifest.v1+json application/vnd.oci.image.config.v1+json application/vnd.oci.image.layer.v1.tar+gzip")
	s.Recipe.Platforms = []string{"linux/amd64", "linux/arm64"}
	var index v1.IndexManifest
	decode(t, b, b.build(t, s).Digest(), &index)
	same(t, "index", index.MediaType, types.OCIImageIndex)
	var all []string
	for _, one := range index.Manifests {
		all = append(all, fmt.Sprint(one.MediaType, " ", one.Platform))
	}
	same(t, "children", all, []string{"application/vnd.oci.image.manifest.v1+json linux/amd64", "application/vnd.oci.image.manifest.v1+json linux/arm64"})
}

func TestLayerEntriesArePlain(t *testing.T) {
	b := newBench(t, t.TempDir())
	dir := everything.write(t, t.TempDir())
	image := b.build(t, step(t, "shop/x", "t", map[string]string{"a": dir}))
	path, err := b.blobs.Path(manifestOf(t, b, image.Digest()).Layers[0].Digest.String())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range gunzip(t, path) {
		if e.Uid != 0 || e.Gid != 0 || e.Uname != "" || e.Gname != "" || !e.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%s: owner or time are not plain: %+v", e.Name, e.Header)
		}
		for key := range e.PAXRecords {
			if key != "path" && key != "linkpath" {
				t.Errorf("%s: PAX record %s", e.Name, key)
			}
		}
		parent := filepath.Dir(strings.TrimSuffix(e.Name, "/")) + "/"
		if parent != "./" && !seen[parent] {
			t.Errorf("%s comes before its directory", e.Name)
		}
		if seen[e.Name] {
			t.Errorf("%s comes twice", e.Name)
		}
		seen[e.Name] = true
		if want := map[byte]int64{tar.TypeDir: 0o755, tar.TypeSymlink: 0o777}[e.Typeflag]; want != 0 && e.Mode != want {
			t.Errorf("%s: mode %o, want %o", e.Name, e.Mode, want)
		}
	}
}

func TestEqualFilesGiveEqualBytes(t *testing.T) {
	var digests []string
	for _, mask := range []int{0o002, 0o077, 0o022} {
		old := syscall.Umask(mask)
		dir := filepath.Join(t.TempDir(), fmt.Sprint(mask))
		everything.write(t, dir)
		syscall.Umask(old)
		when := time.Unix(int64(mask)*1_000_000, 0)
		if err := os.Chtimes(filepath.Join(dir, "index.js"), when, when); err != nil {
			t.Fatal(err)
		}
		s := step(t, "shop/x", "t", map[string]string{"a": dir})
		s.Recipe.Platforms = []string{"linux/amd64", "linux/arm64"}
		digests = append(digests, newBench(t, t.TempDir()).build(t, s).Digest())
	}
	same(t, "digests", slices.Compact(digests), digests[:1])
}

// The digest is written down: another one on some machine, Go or compressor
// means that layers are not reproducible any more.
func TestGoldenDigest(t *testing.T) {
	dir := files{"index.js": strings.Repeat("module.exports = () => 42\n", 100), "bin": "x:#!/bin/sh"}.write(t, t.TempDir())
	got := newBench(t, t.TempDir()).build(t, step(t, "shop/x", "t", map[string]string{"a": dir})).Digest()
	same(t, "digest", got, "sha256:9ca75b1272d2b7f9c9190991cab896f7a8228c0c24636f156db352b6c4e8eeba")
}

func TestEpochMovesTheImage(t *testing.T) {
	dir := files{"a": "1"}.write(t, t.TempDir())
	b := newBench(t, t.TempDir())
	s := step(t, "shop/x", "t", map[string]string{"a": dir})
	s.Recipe.Epoch = 1_700_000_000
	image := b.build(t, s)
	same(t, "created", configOf(t, b, image.Digest()).Created.UTC().Unix(), int64(1_700_000_000))
}

func TestConfigIsTheBasesWithTheRecipes(t *testing.T) {
	reg := newRegistry(t)
	pin := reg.push(t, "base:1", amd64(t, randomImage(t)))
	b := newBench(t, t.TempDir())
	s := step(t, reg.host+"/shop/x", "t", map[string]string{"a": files{"a": "1"}.write(t, t.TempDir())})
	s.Recipe.Base, s.Recipe.Digests = reg.host+"/base:1", []string{pin}
	s.Recipe.Env = []string{"NODE_ENV=production", "TOA=1"}
	digest := b.build(t, s).Digest()
	file := configOf(t, b, digest)
	same(t, "env", file.Config.Env, []string{"PATH=/bin", "NODE_ENV=production", "TOA=1"})
	same(t, "cmd", file.Config.Cmd, []string{"/bin/sh", "-c", "toa compose *"})
	same(t, "entrypoint", file.Config.Entrypoint, []string{"/entry"})
	same(t, "workdir", file.Config.WorkingDir, "/composition")
	same(t, "platform", file.OS+"/"+file.Architecture, "linux/amd64")
	same(t, "layers", len(file.RootFS.DiffIDs), 3)
	same(t, "history", len(file.History), 3)
	m := manifestOf(t, b, digest)
	same(t, "media type", m.MediaType, types.OCIManifestSchema1)
	same(t, "media type of a base layer", m.Layers[0].MediaType, types.DockerLayer)
	same(t, "media type of our layer", m.Layers[2].MediaType, types.OCILayer)

	reg.requests()
	second := newBench(t, cacheDirOf(t, b))
	second.build(t, s)
	same(t, "requests of a second build", len(reg.requests()), 0)
}

// cacheDirOf finds the directory of a bench's cache.
func cacheDirOf(t *testing.T, b *bench) string {
	t.Helper()
	path, err := b.blobs.Path("sha256:" + strings.Repeat("0", 64))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(path)))
}

func TestKnownLayerIsNotMadeAgain(t *testing.T) {
	dir := files{"a": "1"}.write(t, t.TempDir())
	b := newBench(t, t.TempDir())
	s := step(t, "shop/x", "t", map[string]string{"a": dir})
	digest := b.build(t, s).Digest()
	if err := os.RemoveAll(dir); err != nil { // so that it cannot be
		t.Fatal(err)
	}
	same(t, "digest", b.build(t, s).Digest(), digest)
}

func TestManyMembersShareLayers(t *testing.T) {
	for _, row := range []struct{ members, layers int }{{1, 1}, {64, 64}, {65, 64}, {200, 64}} {
		b := newBench(t, t.TempDir())
		dirs := map[string]string{}
		one := files{"a": "1"}.write(t, t.TempDir())
		for i := range row.members {
			dirs[fmt.Sprintf("c%03d", i)] = one
		}
		image := b.build(t, step(t, "shop/x", "t", dirs))
		layers := manifestOf(t, b, image.Digest()).Layers
		same(t, fmt.Sprint("layers of ", row.members), len(layers), row.layers)
		found := 0
		for _, layer := range layers {
			path, err := b.blobs.Path(layer.Digest.String())
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range gunzip(t, path) {
				if e.Typeflag == tar.TypeReg {
					found++
				}
			}
		}
		same(t, "files", found, row.members)
	}
}

func TestBaseLayoutOfSeveralPlatforms(t *testing.T) {
	root := t.TempDir()
	var index v1.ImageIndex = empty.Index
	for _, arch := range []string{"amd64", "arm64"} {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        forPlatform(t, randomImage(t), "linux", arch),
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch, Variant: map[string]string{"arm64": "v8"}[arch]}},
		})
	}
	path, err := layout.Write(filepath.Join(root, "base"), empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendIndex(index); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, t.TempDir())
	b.native.Root = root
	resolver := &images.Resolver{Client: b.client, Blobs: b.blobs, Root: root}
	s := step(t, "shop/x", "t", map[string]string{"a": files{"a": "1"}.write(t, t.TempDir())})
	s.Recipe.Base, s.Recipe.Platforms = "oci-layout://base", []string{"linux/amd64", "linux/arm64"}
	for _, platform := range s.Recipe.Platforms {
		digest, err := resolver.Resolve(t.Context(), s.Recipe.Base, platform)
		if err != nil {
			t.Fatalf("Resolve(%s): %v", platform, err)
		}
		s.Recipe.Digests = append(s.Recipe.Digests, digest)
	}
	var built v1.IndexManifest
	decode(t, b, b.build(t, s).Digest(), &built)
	same(t, "platforms", []string{built.Manifests[0].Platform.String(), built.Manifests[1].Platform.String()}, s.Recipe.Platforms)
	same(t, "kind", built.MediaType, types.OCIImageIndex)

	_, err = resolver.Resolve(t.Context(), s.Recipe.Base, "linux/s390x")
	var missing *images.NoPlatformError
	if !errors.As(err, &missing) || missing.Platform != "linux/s390x" || len(missing.Has) != 2 || missing.Hint() == "" {
		t.Errorf("Resolve of a platform that is not there: got %v", err)
	}
}

func TestResolveInRegistry(t *testing.T) {
	reg := newRegistry(t)
	digest := reg.push(t, "base:1", amd64(t, randomImage(t)))
	b := newBench(t, t.TempDir())
	resolver := &images.Resolver{Client: b.client, Blobs: b.blobs}
	for _, row := range []struct{ reference, platform, want, errText string }{
		{reg.host + "/base:1", "linux/amd64", digest, ""},
		{reg.host + "/base@" + digest, "linux/amd64", digest, ""},
		{reg.host + "/base:1@" + digest, "linux/amd64", digest, ""},
		{templates.Scratch, "linux/amd64", "", ""},
		{reg.host + "/base:1", "linux/arm64", "", "has no platform linux/arm64 (it has linux/amd64)"},
		{reg.host + "/base:2", "linux/amd64", "", "does not exist"},
		{reg.host + "/base:1", "linux", "", "is not os/arch"},
		{"BAD NAME", "linux/amd64", "", `base image "BAD NAME"`},
		{"oci-layout://nowhere", "linux/amd64", "", "does not exist"},
	} {
		got, err := resolver.Resolve(t.Context(), row.reference, row.platform)
		if got != row.want || (err == nil) != (row.errText == "") || err != nil && !strings.Contains(err.Error(), row.errText) {
			t.Errorf("Resolve(%s, %s): got %q, %v, want %q, %q", row.reference, row.platform, got, err, row.want, row.errText)
		}
	}
}

func TestDependenciesImageIsAppendedByReference(t *testing.T) {
	reg := newRegistry(t)
	first := newBench(t, t.TempDir())
	deps := step(t, reg.host+"/shop/composition-edge", "deps-1", map[string]string{"modules": files{"a": "1"}.write(t, t.TempDir())})
	image := first.build(t, deps)
	digest := first.publish(t, first.remote, deps, image)
	sources := step(t, reg.host+"/shop/composition-edge", "one", map[string]string{"src": files{"b": "2"}.write(t, t.TempDir())})
	want := files{"composition/modules/a": "1", "composition/src/b": "2"}
	same(t, "built in this run", first.build(t, sources, result(deps.ID, deps.Reference, digest, image)).Digest(),
		newBench(t, t.TempDir()).build(t, sources, result(deps.ID, deps.Reference, digest, nil)).Digest())
	reg.requests()

	other := newBench(t, t.TempDir()) // another machine
	s := other.build(t, sources, result(deps.ID, deps.Reference, digest, nil))
	same(t, "requests to build: manifest and config", reg.requests(), []string{"GET manifest", "GET blob"})
	other.publish(t, other.remote, sources, s)
	same(t, "requests to publish", len(reg.requests()), 6)
	same(t, "contents", contents(t, reg.pull(t, reg.host+"/shop/composition-edge:one")), want)
}

func TestStepsThatNeedAnEngine(t *testing.T) {
	s := step(t, "shop/x", "t", nil)
	s.Recipe.Runs = []templates.Run{{Line: "apk add curl", Owner: "store.orders"}}
	_, err := newBench(t, t.TempDir()).native.Build(t.Context(), s, nil)
	var needs *images.NeedsEngineError
	if !errors.As(err, &needs) || needs.Owner != "store.orders" || needs.Step != "composition/edge" || needs.Hint() == "" {
		t.Errorf("Build: got %v, want a NeedsEngineError", err)
	}
}

func TestFileThatChangesWhilePacked(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(path string) error
	}{
		{"other content", func(path string) error { return os.WriteFile(path, []byte("222"), 0o600) }},
		{"longer", func(path string) error { return os.WriteFile(path, []byte("1111"), 0o600) }},
		{"gone", os.Remove},
		{"a pipe", func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) }},
		{"a directory", func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }},
		{"a link outside", func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path)) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := files{"a/index.js": "111"}.write(t, t.TempDir())
			cacheDir := t.TempDir()
			b := newBench(t, cacheDir)
			s := step(t, "shop/x", "t", map[string]string{"store-orders": dir})
			if err := row.change(filepath.Join(dir, "a", "index.js")); err != nil {
				t.Fatal(err)
			}
			_, err := b.native.Build(t.Context(), s, nil)
			if err == nil || !strings.Contains(err.Error(), "store-orders") || !strings.Contains(err.Error(), "a/index.js") {
				t.Errorf("Build: got %v, want an error that names component and file", err)
			}
			left, err := os.ReadDir(filepath.Join(cacheDir, "tmp"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// Any files come out of the layer as they went in.
func TestLayerHoldsAnyFiles(t *testing.T) {
	dir := t.TempDir()
	run := 0
	content := rapid.StringN(0, 50, -1).Filter(func(text string) bool { // what files would take for something else
		return !strings.HasPrefix(text, "->") && !strings.HasPrefix(text, "x:")
	})
	rapid.Check(t, func(rt *rapid.T) {
		run++
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-c]{1,2}(/[a-c]{3}){0,2}\.js`), 0, 8, rapid.ID).Draw(rt, "names")
		all := files{}
		for _, name := range names {
			all[name] = rapid.SampledFrom([]string{"", "x:", ""}).Draw(rt, "mode") + content.Draw(rt, "content")
		}
		sources := all.write(t, filepath.Join(dir, fmt.Sprint(run)))
		if err := os.MkdirAll(sources, 0o700); err != nil {
			t.Fatal(err)
		}
		b := newBench(t, filepath.Join(dir, "cache"))
		image := b.build(t, step(t, "shop/x", "t", map[string]string{"a": sources}))
		path, err := b.blobs.Path(manifestOf(t, b, image.Digest()).Layers[0].Digest.String())
		if err != nil {
			t.Fatal(err)
		}
		want := files{}
		for name, content := range all {
			want["composition/a/"+name] = content
		}
		got := regularFiles(gunzip(t, path))
		if fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("got %q, want %q", got, want)
		}
	})
}

// layoutImage is the one image of a layout.
func layoutImage(t *testing.T, dir string) v1.Image {
	t.Helper()
	path, err := layout.FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	index, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	m, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Manifests) != 1 {
		t.Fatalf("%d images, want 1", len(m.Manifests))
	}
	image, err := path.Image(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

var _ orchestrator.Artifact = (*images.Image)(nil)
