package images_test

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"testing"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images/archive"
	"github.com/containerd/containerd/v2/plugins/content/local"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

// exported is the archive of an image for the platforms.
func exported(t *testing.T, platforms ...string) (*images.Image, []byte) {
	t.Helper()
	b := newBench(t, t.TempDir())
	to := newLayout(t, b)
	s := step(t, "shop/composition-edge", "one", map[string]string{"a": files{"a": "1", "run": "x:#!/bin/sh"}.write(t, t.TempDir())})
	s.Recipe.Platforms = platforms
	image := b.build(t, s)
	b.publish(t, to, s, image)
	var out bytes.Buffer
	if err := to.Export(t.Context(), s.Reference, &out); err != nil {
		t.Fatal(err)
	}
	return image, out.Bytes()
}

// What docker load reads is the image of this machine, by its full name.
func TestExportIsAnArchiveOfDocker(t *testing.T) {
	for _, platforms := range [][]string{{orchestrator.HostPlatform()}, {"linux/s390x", orchestrator.HostPlatform()}, {"linux/ppc64le", "linux/s390x"}} {
		_, data := exported(t, platforms...)
		tag, err := name.NewTag("shop/composition-edge:one")
		if err != nil {
			t.Fatal(err)
		}
		image, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, &tag)
		if err != nil {
			t.Fatalf("%v: %v", platforms, err)
		}
		file, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		want := platforms[0]
		if len(platforms) > 1 && platforms[1] == orchestrator.HostPlatform() {
			want = platforms[1]
		}
		same(t, "platform", file.OS+"/"+file.Architecture, want)
		same(t, "contents", contents(t, image), files{"composition/a/a": "1", "composition/a/run": "x:#!/bin/sh"})
	}
}

// What ctr images import reads is the whole image, by its digest and full name.
func TestExportIsReadByContainerd(t *testing.T) {
	for _, platforms := range [][]string{{"linux/amd64"}, {"linux/amd64", "linux/arm64"}} {
		image, data := exported(t, platforms...)
		store, err := local.NewStore(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		index, err := archive.ImportIndex(t.Context(), store, bytes.NewReader(data))
		if err != nil {
			t.Fatalf("ImportIndex: %v", err)
		}
		raw, err := content.ReadBlob(t.Context(), store, index)
		if err != nil {
			t.Fatal(err)
		}
		var listed v1.IndexManifest
		if err := json.Unmarshal(raw, &listed); err != nil {
			t.Fatal(err)
		}
		same(t, "digest", listed.Manifests[0].Digest.String(), image.Digest())
		same(t, "name", listed.Manifests[0].Annotations["io.containerd.image.name"], "docker.io/shop/composition-edge:one")
		if _, err := content.ReadBlob(t.Context(), store, ocispec.Descriptor{Digest: digest.Digest(image.Digest())}); err != nil {
			t.Errorf("the image is not in the store: %v", err)
		}
	}
}

// A base may be named by its tag in a layout.
func TestBaseLayoutByTag(t *testing.T) {
	b := newBench(t, t.TempDir())
	to := newLayout(t, b)
	digests := map[string]string{}
	for _, tag := range []string{"one", "two"} {
		s := step(t, "bases/node", tag, map[string]string{"a": files{"a": tag}.write(t, t.TempDir())})
		digests[tag] = b.publish(t, to, s, b.build(t, s))
	}
	resolver := &images.Resolver{Client: b.client, Blobs: b.blobs, Root: to.Dir}
	for reference, want := range map[string]string{
		"oci-layout://bases/node:one": digests["one"],
		"oci-layout://bases/node:two": digests["two"],
		"oci-layout://" + filepath.Join(to.Dir, "bases/node") + ":two@" + digests["one"]: digests["one"],
		"oci-layout://bases/node:three": "",
	} {
		got, err := resolver.Resolve(t.Context(), reference, "linux/amd64")
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Resolve(%s): got %q, %v, want %q", reference, got, err, want)
		}
	}
	s := step(t, "shop/x", "t", map[string]string{"b": files{"b": "1"}.write(t, t.TempDir())})
	s.Recipe.Base, s.Recipe.Digests = "oci-layout://bases/node:two", []string{digests["two"]}
	b.native.Root = to.Dir
	same(t, "layers", len(manifestOf(t, b, b.build(t, s).Digest()).Layers), 2)
}
