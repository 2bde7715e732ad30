package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"toa.io/toa/cache"
	"toa.io/toa/internal/failpoint"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// Native builds images without an engine: it writes layers and configs itself
// and lets the host's npm install packages. Make one for a run.
type Native struct {
	Blobs  *cache.Blobs
	Client *Client
	// Layout is where images are published when they go to disk, else nil.
	Layout *Layout
	// Root is the directory that relative "oci-layout://DIR" references start from.
	Root string
	// NPM is the npm command; empty means "npm".
	NPM string
	// NPMCache is where npm keeps what it downloads; empty means its default.
	NPMCache string
	// Observe gets npm's output and notices; it may be nil.
	Observe orchestrator.Observe

	turn  turns[cache.Key]
	bases sync.Map // baseAt → child: most images of a run stand on the same
}

// baseAt is a base image for one platform.
type baseAt struct{ reference, digest, platform string }

var _ orchestrator.Builder = (*Native)(nil)

// maxSourceLayers bounds the layers of sources in one image: runtimes and
// registries take 127 in all.
const maxSourceLayers = 64

// layer is a finished layer and how history tells of it.
type layer struct {
	content
	diffID v1.Hash
	made   string
}

// Build implements orchestrator.Builder. The same step gives the same bytes.
func (n *Native) Build(ctx context.Context, step orchestrator.Step, deps []orchestrator.Result) (orchestrator.Artifact, error) {
	if err := needsEngine(step); err != nil {
		return nil, err
	}
	platforms, err := parsePlatforms(step.Recipe.Platforms)
	if err != nil {
		return nil, err
	}
	sources, err := n.sources(ctx, step)
	if err != nil {
		return nil, err
	}
	jobs, err := n.planInstalls(ctx, step)
	if err != nil {
		return nil, err
	}
	children := make([]child, len(platforms))
	for i, platform := range platforms {
		base, err := n.base(ctx, step, deps, i, platform)
		if err != nil {
			return nil, err
		}
		installed, err := n.installs(ctx, jobs, npmTargetOf(platform, step.Recipe.Base, base.file))
		if err != nil {
			return nil, err
		}
		if children[i], err = n.assemble(base, &step.Recipe, platform, append(installed, sources...)); err != nil {
			return nil, err
		}
	}
	image, err := newImage(children, platforms)
	if err != nil {
		return nil, err
	}
	n.remember(image)
	return image, nil
}

// needsEngine names what of a recipe must run inside the image. What install
// scripts must, npm's lockfile says.
func needsEngine(step orchestrator.Step) error {
	r := &step.Recipe
	switch {
	case len(r.Runs) > 0:
		return &NeedsEngineError{Step: step.ID, Owner: r.Runs[0].Owner, What: fmt.Sprintf("run line %q", r.Runs[0].Line)}
	case r.Template != "":
		return &NeedsEngineError{Step: step.ID, Owner: "templates/" + r.Kind, What: "what its template says"}
	default:
		return nil
	}
}

// assemble puts layers on a base.
func (n *Native) assemble(base child, recipe *templates.Recipe, platform v1.Platform, layers []layer) (child, error) {
	all := base.layers[:len(base.layers):len(base.layers)]
	for _, one := range layers {
		all = append(all, one.content)
	}
	return newChild(configure(base.file, recipe, platform, layers), all)
}

// remember keeps manifests and configs, for images that start from this one
// and for knowing what a registry holds. It is only a saving of requests.
func (n *Native) remember(image *Image) {
	_, _ = n.Blobs.Keep(image.top.raw)
	for _, one := range image.children {
		_, _ = n.Blobs.Keep(one.raw)
		_, _ = n.Blobs.Keep(one.config.origin.(memory))
	}
}

// epoch is the time that everything in an image of the recipe carries.
func epoch(recipe *templates.Recipe) time.Time { return time.Unix(recipe.Epoch, 0).UTC() }

// scratch is what an image that starts from nothing starts from: as engines
// have it, commands are found.
var scratch = child{file: v1.ConfigFile{Config: v1.Config{Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}}}}

// base is what the image starts from on one platform.
func (n *Native) base(ctx context.Context, step orchestrator.Step, deps []orchestrator.Result, at int, p v1.Platform) (child, error) {
	switch {
	case len(deps) > 0:
		return n.dependency(ctx, deps[0], at, p)
	case step.Recipe.Base == templates.Scratch:
		return scratch, nil
	}
	from, target, err := locate(n.Client, n.Root, step.Recipe.Base)
	if err != nil {
		return child{}, err
	}
	if at < len(step.Recipe.Digests) {
		target = step.Recipe.Digests[at]
	}
	if !strings.HasPrefix(target, "sha256:") {
		return child{}, fmt.Errorf("base image %s is not pinned for %s", step.Recipe.Base, platformText(p))
	}
	named := baseAt{step.Recipe.Base, target, platformText(p)}
	if known, ok := n.bases.Load(named); ok {
		return known.(child), nil
	}
	read, err := shelf{blobs: n.Blobs, from: from, reference: step.Recipe.Base}.pinned(ctx, target, p)
	if err == nil {
		n.bases.Store(named, read)
	}
	return read, err
}

// dependency is the image that a step's dependencies are in: built in this run,
// or published before. Its layers stay where they are.
func (n *Native) dependency(ctx context.Context, dep orchestrator.Result, at int, p v1.Platform) (child, error) {
	if image, ok := dep.Artifact.(*Image); ok && at < len(image.children) && runsOn(image.children[at].file, p) {
		return image.children[at], nil
	}
	from, err := published(n.Layout, n.Client, dep.Reference.Repository)
	if err != nil {
		return child{}, err
	}
	return shelf{blobs: n.Blobs, from: from, reference: dep.Reference.String()}.pinned(ctx, dep.Reference.Digest, p)
}

// sources are the layers of the recipe's copies: one for each, so that a
// change of one moves one, or a few in each where there are too many.
func (n *Native) sources(ctx context.Context, step orchestrator.Step) ([]layer, error) {
	copies := step.Recipe.Copies
	if len(copies) > len(step.Sources) {
		return nil, fmt.Errorf("%s copies %d directories and is given %d", step.ID, len(copies), len(step.Sources))
	}
	parts := make([]part, len(copies))
	for i, one := range copies {
		source := step.Sources[i]
		parts[i] = part{prefix: place(step.Recipe.Workdir, one.Label), dir: source.Dir, owner: source.Component, tree: source.Tree}
	}
	count := min(len(parts), maxSourceLayers)
	layers := make([]layer, count)
	for i := range layers {
		var err error
		share := parts[i*len(parts)/count : (i+1)*len(parts)/count]
		if layers[i], err = n.layer(ctx, step, share); err != nil {
			return nil, err
		}
	}
	return layers, nil
}

// place is where a directory is in the image, as archives write it.
func place(workdir, label string) string {
	return strings.TrimPrefix(path.Join("/", workdir, label), "/")
}

// layer finds or makes a layer of parts of a step.
func (n *Native) layer(ctx context.Context, step orchestrator.Step, parts []part) (layer, error) {
	at := epoch(&step.Recipe)
	return n.keep(ctx, layerKey(parts, at), "copy "+prefixes(parts), step.Anew, func(ctx context.Context) (cache.Layer, error) {
		return pack(ctx, n.Blobs, parts, at)
	})
}

// keep finds the layer of a key, or makes it and remembers it. Anew it is made
// in any case.
func (n *Native) keep(ctx context.Context, key cache.Key, made string, anew bool, pack func(context.Context) (cache.Layer, error)) (layer, error) {
	release, err := n.turn.take(ctx, key)
	if err != nil {
		return layer{}, err
	}
	defer release()
	kept, err := n.Blobs.Layer(key)
	if err != nil || anew {
		before := kept
		if kept, err = pack(ctx); err != nil {
			return layer{}, err
		}
		if err := failpoint.At(failpoint.LayerPacked); err != nil {
			return layer{}, err
		}
		if kept != before {
			_ = n.Blobs.PutLayer(key, kept) // not remembered, it is made again
		}
	}
	return newLayer(kept, made, packed{blobs: n.Blobs, again: pack})
}

func newLayer(kept cache.Layer, made string, from origin) (layer, error) {
	digest, err := v1.NewHash(kept.Digest)
	if err != nil {
		return layer{}, err
	}
	diffID, err := v1.NewHash(kept.DiffID)
	if err != nil {
		return layer{}, err
	}
	descriptor := v1.Descriptor{MediaType: types.OCILayer, Size: kept.Size, Digest: digest}
	return layer{content: content{Descriptor: descriptor, origin: from}, diffID: diffID, made: made}, nil
}

// layerKey is of everything that decides a layer's bytes.
func layerKey(parts []part, at time.Time) cache.Key {
	h := cache.NewHasher("toa/layer/v1")
	h.Field("compression", compression)
	h.Field("epoch", at.Format(time.RFC3339))
	for _, one := range parts {
		h.Field("prefix", one.prefix)
		h.Key("tree", one.tree.Key)
	}
	return h.Sum()
}

func prefixes(parts []part) string {
	names := make([]string, len(parts))
	for i, one := range parts {
		names[i] = "/" + one.prefix
	}
	return strings.Join(names, " ")
}

// packed is the origin of layers that we made: the cache, or else the files
// again.
type packed struct {
	blobs *cache.Blobs
	again func(context.Context) (cache.Layer, error)
}

func (p packed) open(ctx context.Context, d v1.Descriptor) (body io.ReadCloser, err error) {
	digest := d.Digest.String()
	if body, err = p.blobs.Open(digest); !errors.Is(err, cache.ErrNotFound) {
		return body, err
	}
	made, err := p.again(ctx)
	if err != nil {
		return nil, fmt.Errorf("make layer %s again: %w", short(d.Digest), err)
	}
	if made.Digest != digest {
		return nil, fmt.Errorf("make layer %s again: it has become %s", short(d.Digest), made.Digest)
	}
	return p.blobs.Open(digest)
}
