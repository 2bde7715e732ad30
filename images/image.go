// Package images makes images without an engine (Native) and publishes them:
// to registries (Remote) or to a directory (Layout). It knows image formats,
// registries and npm; it knows nothing of workspaces beyond the steps it is
// given, and decides nothing.
//
// Its users may rely on this: the same step gives the same bytes on every
// machine; everything that is fetched is verified against its digest; no
// credential enters an error or an event; when a call returns, its goroutines
// and children have ended.
package images

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image is a finished image: the orchestrator.Artifact of this room.
type Image struct {
	// top is the manifest of a single-platform image, else the index.
	top document
	// children are the images of the platforms, in the order of the index. A
	// single-platform image has one, whose document is top.
	children []child
}

// Digest is "sha256:…" of the manifest or index.
func (i *Image) Digest() string { return i.top.Digest.String() }

// document is a manifest or an index: its descriptor and its bytes.
type document struct {
	v1.Descriptor
	raw []byte
}

// child is the image of one platform.
type child struct {
	document
	config content
	layers []content
	file   v1.ConfigFile
}

// contents are the blobs that the manifest names.
func (c *child) contents() []content {
	return append(c.layers[:len(c.layers):len(c.layers)], c.config)
}

// content is one blob of an image and where its bytes are.
type content struct {
	v1.Descriptor
	origin origin
}

func (c content) open(ctx context.Context) (io.ReadCloser, error) {
	return c.origin.open(ctx, c.Descriptor)
}

// origin is where bytes of blobs are. What it reads is verified: reading ends
// with cache.ErrDamaged where it is not what the descriptor says.
type origin interface {
	open(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error)
}

// library is an origin that has manifests too: a place images are published in.
type library interface {
	origin
	// manifest reads the manifest or index that target, a tag or a digest, names.
	// It does not verify it; see documentOf. What is not there is cache.ErrNotFound.
	manifest(ctx context.Context, target string) ([]byte, error)
}

// memory is the origin of a blob that is at hand.
type memory []byte

func (m memory) open(context.Context, v1.Descriptor) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(m)), nil
}

// newDocument encodes a manifest or index.
func newDocument(mediaType types.MediaType, value any) (document, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return document{}, fmt.Errorf("encode manifest: %w", err)
	}
	return document{Descriptor: describe(mediaType, raw), raw: raw}, nil
}

func describe(mediaType types.MediaType, raw []byte) v1.Descriptor {
	digest, size, _ := v1.SHA256(bytes.NewReader(raw)) // reading memory cannot fail
	return v1.Descriptor{MediaType: mediaType, Size: size, Digest: digest}
}

// newChild makes the manifest of a config and layers.
func newChild(file v1.ConfigFile, layers []content) (child, error) {
	raw, err := json.Marshal(file)
	if err != nil {
		return child{}, fmt.Errorf("encode image config: %w", err)
	}
	config := content{Descriptor: describe(types.OCIConfigJSON, raw), origin: memory(raw)}
	manifest := v1.Manifest{
		SchemaVersion: 2,
		MediaType:     types.OCIManifestSchema1,
		Config:        config.Descriptor,
		Layers:        []v1.Descriptor{},
	}
	for _, layer := range layers {
		manifest.Layers = append(manifest.Layers, layer.Descriptor)
	}
	doc, err := newDocument(types.OCIManifestSchema1, manifest)
	if err != nil {
		return child{}, err
	}
	return child{document: doc, config: config, layers: layers, file: file}, nil
}

// newImage makes an image of its platforms: an index where there are several
// or where one is asked for.
func newImage(children []child, platforms []v1.Platform) (*Image, error) {
	if len(children) == 1 {
		return &Image{top: children[0].document, children: children}, nil
	}
	manifest := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	for i := range children {
		descriptor := children[i].Descriptor
		descriptor.Platform = &platforms[i]
		manifest.Manifests = append(manifest.Manifests, descriptor)
	}
	top, err := newDocument(types.OCIImageIndex, manifest)
	if err != nil {
		return nil, err
	}
	return &Image{top: top, children: children}, nil
}

// isIndex tells whether the image is an index of platforms.
func (i *Image) isIndex() bool { return i.top.MediaType.IsIndex() }
