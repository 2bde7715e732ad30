package images

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
)

// Finished takes images that somebody else built out of their layouts, as they
// are, and leaves all others to Builder.
type Finished struct {
	// Root is the directory that relative "oci-layout://DIR" references start from.
	Root    string
	Builder orchestrator.Builder
}

var _ orchestrator.Builder = (*Finished)(nil)

// Build implements orchestrator.Builder.
func (f *Finished) Build(ctx context.Context, step orchestrator.Step, deps []orchestrator.Result) (orchestrator.Artifact, error) {
	if step.Recipe.Kind != orchestrator.KindFinished {
		return f.Builder.Build(ctx, step, deps)
	}
	dir, digest, ok := LayoutReference(f.Root, step.Recipe.Base)
	if !ok {
		return nil, fmt.Errorf("%s is finished, and %s is no layout", step.ID, step.Recipe.Base)
	}
	image, err := layoutDir(dir).image(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", step.Recipe.Base, err)
	}
	return image, nil
}

// FinishedDigest is that of the one image, or index of platforms, that the
// layout in dir holds.
func FinishedDigest(dir string) (string, error) {
	one, err := layoutDir(dir).only()
	if err != nil {
		return "", err
	}
	return one.Digest.String(), nil
}

// only describes what a layout of one image holds.
func (l layoutDir) only() (v1.Descriptor, error) {
	all := l.index().Manifests
	if len(all) != 1 {
		return v1.Descriptor{}, fmt.Errorf("layout %s holds %d images, expected one", string(l), len(all))
	}
	return all[0], nil
}

// image reads the one image that the layout holds, which must have the digest.
// Its blobs stay where they are until they are asked for.
func (l layoutDir) image(ctx context.Context, digest string) (*Image, error) {
	only, err := l.only()
	if err != nil {
		return nil, err
	}
	if only.Digest.String() != digest {
		return nil, fmt.Errorf("%w: layout %s holds %s", cache.ErrDamaged, string(l), only.Digest)
	}
	top, parsed, err := l.document(ctx, only)
	if err != nil {
		return nil, err
	}
	image := &Image{top: top}
	if parsed.Manifests == nil {
		parsed.Manifests = []v1.Descriptor{only}
	}
	for _, d := range parsed.Manifests {
		one, err := l.child(ctx, d)
		if err != nil {
			return nil, err
		}
		image.children = append(image.children, one)
	}
	return image, nil
}

// document reads a manifest or an index, and verifies it.
func (l layoutDir) document(ctx context.Context, d v1.Descriptor) (document, manifest, error) {
	raw, err := l.small(ctx, d)
	if err != nil {
		return document{}, manifest{}, err
	}
	parsed, err := parseManifest(raw)
	if err != nil {
		return document{}, manifest{}, err
	}
	return document{Descriptor: describe(cmp.Or(parsed.MediaType, d.MediaType), raw), raw: raw}, parsed, nil
}

// small reads a blob that fits into memory, verified.
func (l layoutDir) small(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	body, err := l.open(ctx, d)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return readSmall(body)
}

// child reads the image of one platform.
func (l layoutDir) child(ctx context.Context, d v1.Descriptor) (child, error) {
	read, parsed, err := l.document(ctx, d)
	if err != nil {
		return child{}, err
	}
	if parsed.Manifests != nil {
		return child{}, fmt.Errorf("%s is an index within an index", short(d.Digest))
	}
	raw, err := l.small(ctx, parsed.Config)
	if err != nil {
		return child{}, err
	}
	one := child{document: read, config: content{parsed.Config, memory(raw)}}
	if err := json.Unmarshal(raw, &one.file); err != nil {
		return child{}, fmt.Errorf("read image config: %w", err)
	}
	for _, layer := range parsed.Layers {
		one.layers = append(one.layers, content{layer, l})
	}
	return one, nil
}
