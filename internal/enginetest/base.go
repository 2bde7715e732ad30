package enginetest

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Command is what the bases have as toa: it prints its arguments, each on a
// line, and the directory that it runs in.
const Command = "#!/bin/sh\npwd\nfor one in toa \"$@\"; do echo \"$one\"; done\n"

// Base pushes a base image with a shell and a toa (see Command) to a registry
// and returns its reference. It is for the platforms given, or else for this
// machine's; whatever they are, its programs are this machine's.
func Base(t testing.TB, host string, platforms ...string) string {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("no busybox, which the base images of tests are made of: run test/setup busybox")
	}
	var out archive
	out.file("bin/busybox", read(t, busybox))
	for _, applet := range applets {
		out.link("bin/"+applet, "busybox")
	}
	out.file("usr/bin/toa", []byte(Command))
	for _, dir := range []string{"tmp", "root", "dev", "proc", "sys"} {
		out.directory(dir)
	}
	return push(t, host+"/base/busybox:1", out.layer(), platforms)
}

var applets = strings.Fields("sh cat echo ls pwd test true false env grep sed mkdir rm cp ln touch seq sleep sha256sum id head tail date wc")

// NodeLayers is how many layers the image of Node has.
const NodeLayers = 2

// Node is Base with this machine's node and npm, for this machine's platform.
func Node(t testing.TB, host string) string {
	t.Helper()
	base := Base(t, host)
	layer, err := nodeLayer()
	if err != nil {
		t.Skip(err)
	}
	lower, err := remote.Image(parse(t, base))
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(lower, layer)
	if err != nil {
		t.Fatal(err)
	}
	reference := host + "/base/node:1"
	if err := remote.Write(parse(t, reference), image); err != nil {
		t.Fatal(err)
	}
	return reference
}

// nodeLayer is made once: it is large.
var nodeLayer = sync.OnceValues(func() (v1.Layer, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, errors.New("no node, which a base image of tests is made of: run test/setup node")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, errors.New("no npm, which a base image of tests is made of: run test/setup npm")
	}
	var out archive
	out.buffer.Grow(192 << 20) // once: what grows is copied
	if err := out.program("usr/bin/node", node); err != nil {
		return nil, err
	}
	cli, err := filepath.EvalSymlinks(npm)
	if err != nil {
		return nil, err
	}
	modules := filepath.Dir(filepath.Dir(cli))
	if err := out.tree("usr/lib/node_modules/npm", modules); err != nil {
		return nil, err
	}
	out.link("usr/bin/npm", "../lib/node_modules/npm/bin/npm-cli.js")
	out.link("usr/bin/env", "../../bin/busybox")
	return out.layer(), nil
})

// libraries are those that ldd names.
var libraries = regexp.MustCompile(`(?m)(/\S+) \(0x`)

// program adds an executable and the libraries that it needs.
func (a *archive) program(at, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	a.file(at, data)
	needs, err := exec.CommandContext(context.Background(), "ldd", from).Output()
	if err != nil {
		return err
	}
	for _, found := range libraries.FindAllSubmatch(needs, -1) {
		library := string(found[1])
		if data, err = os.ReadFile(library); err != nil {
			return err
		}
		a.file(strings.TrimPrefix(library, "/"), data)
	}
	return nil
}

// tree adds a directory.
func (a *archive) tree(at, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := root.ReadFile(name)
		if err == nil {
			a.file(path.Join(at, name), data)
		}
		return err
	})
}

// archive is a layer in the making, in memory: writing there cannot fail.
type archive struct {
	buffer bytes.Buffer
	tar    *tar.Writer
	dirs   map[string]bool
}

func (a *archive) add(header *tar.Header, data []byte) {
	if a.tar == nil {
		a.tar, a.dirs = tar.NewWriter(&a.buffer), map[string]bool{".": true}
	}
	if parent := path.Dir(path.Clean(header.Name)); !a.dirs[parent] {
		a.directory(parent)
	}
	if header.Typeflag == tar.TypeDir {
		a.dirs[path.Clean(header.Name)] = true
	}
	_ = a.tar.WriteHeader(header)
	_, _ = a.tar.Write(data)
}

func (a *archive) directory(name string) {
	a.add(&tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: 0o755}, nil)
}

func (a *archive) file(name string, data []byte) {
	a.add(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(data))}, data)
}

func (a *archive) link(name, target string) {
	a.add(&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Mode: 0o777, Linkname: target}, nil)
}

// layer ends the archive. It is not compressed: that is most of the work.
func (a *archive) layer() v1.Layer {
	_ = a.tar.Close()
	return static.NewLayer(a.buffer.Bytes(), types.OCIUncompressedLayer)
}

// push puts a layer as an image of each platform into a registry.
func push(t testing.TB, reference string, layer v1.Layer, platforms []string) string {
	t.Helper()
	if len(platforms) == 0 {
		platforms = []string{"linux/" + runtime.GOARCH}
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, text := range platforms {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image(t, layer, *platform), Descriptor: v1.Descriptor{Platform: platform},
		})
	}
	if len(platforms) > 1 {
		if err := remote.WriteIndex(parse(t, reference), index); err != nil {
			t.Fatal(err)
		}
		return reference
	}
	platform, err := v1.ParsePlatform(platforms[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(parse(t, reference), image(t, layer, *platform)); err != nil {
		t.Fatal(err)
	}
	return reference
}

func image(t testing.TB, layer v1.Layer, platform v1.Platform) v1.Image {
	t.Helper()
	made := mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1)
	made, err := mutate.Append(made, mutate.Addendum{Layer: layer, History: v1.History{CreatedBy: "made for tests"}})
	if err != nil {
		t.Fatal(err)
	}
	file, err := made.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Variant = platform.OS, platform.Architecture, platform.Variant
	file.Config.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	if made, err = mutate.ConfigFile(made, file); err != nil {
		t.Fatal(err)
	}
	return made
}

func parse(t testing.TB, reference string) name.Reference {
	t.Helper()
	parsed, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
