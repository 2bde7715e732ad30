package images

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
)

// Comparer tells published images from rebuilt ones, file by file. Layers are
// read as streams: what is kept of them in memory are the names of files that
// stand elsewhere in the other one, and what differs.
type Comparer struct {
	Blobs  *cache.Blobs
	Client *Client
	// Layout is where images are published when they go to disk, else nil.
	Layout *Layout
}

var _ orchestrator.Comparer = (*Comparer)(nil)

// Published implements orchestrator.Comparer. Platforms that the image lacks
// are missing from what it returns, which Compare tells.
func (c *Comparer) Published(ctx context.Context, step orchestrator.Step, digest string) (orchestrator.Artifact, error) {
	platforms, err := parsePlatforms(step.Recipe.Platforms)
	if err != nil {
		return nil, err
	}
	from, err := published(c.Layout, c.Client, step.Reference.Repository)
	if err != nil {
		return nil, err
	}
	hash, err := v1.NewHash(digest)
	if err != nil {
		return nil, err
	}
	s := shelf{blobs: c.Blobs, from: from, reference: step.Reference.String()}
	raw, err := s.document(ctx, hash)
	if err != nil {
		return nil, err
	}
	image := &Image{top: document{Descriptor: describe("", raw), raw: raw}}
	for _, p := range platforms {
		one, err := s.find(ctx, raw, p, 0)
		var missing *NoPlatformError
		if errors.As(err, &missing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		image.children = append(image.children, one)
	}
	return image, nil
}

// published is where images of a repository are.
func published(layout *Layout, client *Client, repository string) (library, error) {
	if layout != nil {
		return layout.dir(repository)
	}
	return client.repository(repository)
}

// Compare implements orchestrator.Comparer.
func (c *Comparer) Compare(ctx context.Context, published, made orchestrator.Artifact) ([]orchestrator.Difference, error) {
	a, aOK := published.(*Image)
	b, bOK := made.(*Image)
	if !aOK || !bOK {
		return nil, fmt.Errorf("compare %T with %T: they are no images of this package", published, made)
	}
	pairs, all := pair(a, b)
	shared := sharedLayers(pairs)
	told := map[layerPair]bool{}
	for _, p := range pairs {
		found, err := p.compare(ctx, shared, told)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.platform, err)
		}
		all = append(all, found...)
	}
	if len(all) == 0 && a.Digest() != b.Digest() {
		all = append(all, orchestrator.Difference{Part: partManifest, What: "written otherwise, with the same content"})
	}
	return all, nil
}

// What is said of something that only one of two images has.
const (
	onlyPublished = "only published"
	onlyRebuilt   = "only rebuilt"
)

const (
	partManifest = "manifest"
	partConfig   = "config"
)

// platformPair are the images of one platform.
type platformPair struct {
	platform string
	a, b     child
}

// pair puts the platforms of two images together, and tells those that only one has.
func pair(a, b *Image) (pairs []platformPair, lone []orchestrator.Difference) {
	alone := func(platform, what string) {
		lone = append(lone, orchestrator.Difference{Platform: platform, Part: partManifest, What: what})
	}
	made := map[string]child{}
	for _, one := range b.children {
		made[platformOf(one)] = one
	}
	for _, one := range a.children {
		platform := platformOf(one)
		other, ok := made[platform]
		delete(made, platform)
		if !ok {
			alone(platform, onlyPublished)
			continue
		}
		pairs = append(pairs, platformPair{platform, one, other})
	}
	for _, platform := range slices.Sorted(maps.Keys(made)) {
		alone(platform, onlyRebuilt)
	}
	return pairs, lone
}

func platformOf(c child) string {
	return platformText(v1.Platform{OS: c.file.OS, Architecture: c.file.Architecture, Variant: c.file.Variant})
}

// layerPair are two layers at one place.
type layerPair struct {
	at   int
	a, b v1.Hash
}

func (p platformPair) layers(at int) layerPair {
	return layerPair{at, p.a.layers[at].Digest, p.b.layers[at].Digest}
}

// sharedLayers are those pairs that all platforms have.
func sharedLayers(pairs []platformPair) map[layerPair]bool {
	count, shared := map[layerPair]int{}, map[layerPair]bool{}
	for _, p := range pairs {
		for at := range min(len(p.a.layers), len(p.b.layers)) {
			pair := p.layers(at)
			count[pair]++
			shared[pair] = count[pair] == len(pairs)
		}
	}
	return shared
}

// compare compares layers by their place, then configs. Where nothing of that
// differs the manifests do. Layers that all platforms share are told once.
func (p platformPair) compare(ctx context.Context, shared, told map[layerPair]bool) ([]orchestrator.Difference, error) {
	if p.a.Digest == p.b.Digest {
		return nil, nil
	}
	all, err := p.compareAllLayers(ctx, shared, told)
	if err != nil {
		return nil, err
	}
	fields, err := compareConfigs(ctx, p.a, p.b)
	if err != nil {
		return nil, err
	}
	all = append(all, placed(fields, p.platform, partConfig)...)
	if len(all) == 0 && len(told) == 0 {
		all = append(all, orchestrator.Difference{Platform: p.platform, Part: partManifest, What: "written otherwise, with the same content"})
	}
	return all, nil
}

func (p platformPair) compareAllLayers(ctx context.Context, shared, told map[layerPair]bool) ([]orchestrator.Difference, error) {
	var all []orchestrator.Difference
	for at := range max(len(p.a.layers), len(p.b.layers)) {
		found, platform, part := []orchestrator.Difference{{What: onlyRebuilt}}, p.platform, fmt.Sprintf("layer %d", at+1)
		switch {
		case at >= len(p.b.layers):
			found[0].What = onlyPublished
		case at >= len(p.a.layers):
		case p.a.layers[at].Digest == p.b.layers[at].Digest || told[p.layers(at)]:
			continue
		default:
			var err error
			if found, err = compareLayers(ctx, p.a.layers[at], p.b.layers[at]); err != nil {
				return nil, fmt.Errorf("compare %s: %w", part, err)
			}
			if shared[p.layers(at)] {
				platform, told[p.layers(at)] = "", true
			}
		}
		all = append(all, placed(found, platform, part)...)
	}
	return all, nil
}

// placed says of differences where they are.
func placed(all []orchestrator.Difference, platform, part string) []orchestrator.Difference {
	for i := range all {
		all[i].Platform, all[i].Part = platform, part
	}
	return all
}
