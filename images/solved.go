package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// Ground is what a step's image stands on, on each of its platforms. An engine
// that builds the image need not send what is in it: where its bytes are is known.
type Ground struct {
	native    *Native
	step      orchestrator.Step
	platforms []v1.Platform
	children  []child
	// local says that its image is in no registry.
	local bool
}

// Ground finds what a step stands on: an image of the run, one that is
// published, a base, or nothing. Only manifests and configs are read. A base
// without one of the platforms is a *NoPlatformError, a lockfile that lacks
// what a package needs on one of them a *LockPlatformError.
func (n *Native) Ground(ctx context.Context, step orchestrator.Step, deps []orchestrator.Result) (*Ground, error) {
	platforms, err := parsePlatforms(step.Recipe.Platforms)
	if err != nil {
		return nil, err
	}
	g := &Ground{native: n, step: step, platforms: platforms, children: make([]child, len(platforms))}
	for i, p := range platforms {
		if g.children[i], err = n.base(ctx, step, deps, i, p); err != nil {
			return nil, err
		}
	}
	g.local = n.local(step, deps)
	if err := g.checkLocks(); err != nil {
		return nil, err
	}
	return g, nil
}

// checkLocks looks into the lockfiles of the step: npm says nothing of what
// they lack.
func (g *Ground) checkLocks() error {
	jobs, err := planned(g.step)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if job.LockName == "" {
			continue
		}
		if err := g.checkLock(job); err != nil {
			return err
		}
	}
	return nil
}

func (g *Ground) checkLock(job install) error {
	err := job.read()
	if err == nil {
		job.lock, err = parseNPMLock(job.files[job.LockName])
	}
	if err != nil {
		return fmt.Errorf("install packages of %s: %w", job.source.Component, err)
	}
	for i, p := range g.platforms {
		target := npmTargetOf(p, g.step.Recipe.Base, g.children[i].file)
		if lack := job.lock.lacks(target); lack != nil {
			lack.Component, lack.LockName = job.source.Component, job.LockName
			return lack
		}
	}
	return nil
}

// local tells whether only this machine has what the step stands on.
func (n *Native) local(step orchestrator.Step, deps []orchestrator.Result) bool {
	if len(deps) > 0 {
		return n.Layout != nil
	}
	return strings.HasPrefix(step.Recipe.Base, LayoutScheme)
}

// Empty says that the image starts from nothing.
func (g *Ground) Empty() bool { return g.children[0].Digest.Hex == "" }

// Local says that the image is in no registry: an engine has to be given its
// blobs.
func (g *Ground) Local() bool { return g.local }

// Digest is that of the manifest for the platform at that place in the recipe.
func (g *Ground) Digest(at int) string { return g.children[at].Digest.String() }

// Has tells whether a blob of that digest is in it.
func (g *Ground) Has(digest string) bool {
	_, ok := g.find(digest)
	return ok
}

// find looks among manifests, configs and layers.
func (g *Ground) find(digest string) (content, bool) {
	for i := range g.children {
		one := &g.children[i]
		for _, c := range append(one.contents(), content{one.Descriptor, memory(one.raw)}) {
			if c.Digest.String() == digest {
				return c, true
			}
		}
	}
	return content{}, false
}

// Open reads a blob of it. The caller closes the file. What it does not have is
// cache.ErrNotFound.
func (g *Ground) Open(ctx context.Context, digest string) (*os.File, error) {
	c, ok := g.find(digest)
	if !ok {
		return nil, cache.ErrNotFound
	}
	blobs := g.native.Blobs
	if !Intact(blobs, digest) {
		if err := keep(ctx, blobs, c); err != nil {
			return nil, fmt.Errorf("read %s of base image %s: %w", short(c.Digest), g.step.Recipe.Base, err)
		}
	}
	path, err := blobs.Path(digest)
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// keep puts a blob into the cache, verified.
func keep(ctx context.Context, blobs *cache.Blobs, c content) error {
	body, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	return keepBlob(blobs, body, c.Digest.String())
}

// Intact tells whether the cache has a blob, by reading it through: what is
// damaged is removed by that.
func Intact(blobs *cache.Blobs, digest string) bool {
	body, err := blobs.Open(digest)
	if err != nil {
		return false
	}
	defer func() { _ = body.Close() }()
	_, err = io.Copy(io.Discard, body)
	return err == nil
}

// Assemble makes the image of what an engine has built: manifests are the
// digests of the images for the step's platforms, in their order. What of them
// is not in the ground is in the cache.
func (g *Ground) Assemble(ctx context.Context, manifests []string) (*Image, error) {
	if len(manifests) != len(g.platforms) {
		return nil, fmt.Errorf("%d images were built for %d platforms", len(manifests), len(g.platforms))
	}
	children := make([]child, len(manifests))
	for i, digest := range manifests {
		var err error
		if children[i], err = g.solved(ctx, digest, g.platforms[i]); err != nil {
			return nil, fmt.Errorf("read what was built for %s: %w", platformText(g.platforms[i]), err)
		}
	}
	image, err := newImage(children, g.platforms)
	if err != nil {
		return nil, err
	}
	g.native.remember(image)
	return image, nil
}

// solved reads one image and finds where each of its blobs is.
func (g *Ground) solved(ctx context.Context, digest string, p v1.Platform) (child, error) {
	blobs := g.native.Blobs
	made, err := shelf{blobs: blobs, from: archived{blobs}, reference: g.step.Reference.String()}.pinned(ctx, digest, p)
	if err != nil {
		return child{}, err
	}
	for i, layer := range made.layers {
		below, ok := g.find(layer.Digest.String())
		switch {
		case ok:
			made.layers[i].origin = below.origin
		case !blobs.Has(layer.Digest.String(), layer.Size):
			return child{}, fmt.Errorf("%s: %w", short(layer.Digest), cache.ErrNotFound)
		default:
			made.layers[i].origin = built{blobs}
		}
	}
	return made, nil
}

// built is the origin of layers that an engine has sent.
type built struct{ blobs *cache.Blobs }

func (b built) open(_ context.Context, d v1.Descriptor) (io.ReadCloser, error) {
	body, err := b.blobs.Open(d.Digest.String())
	if errors.Is(err, cache.ErrNotFound) {
		return nil, fmt.Errorf("layer %s is gone from the cache: it takes another build", short(d.Digest))
	}
	return body, err
}

// Reference is how an engine finds the ground on one platform by itself:
// "repository[:tag]@digest". It is "scratch" where there is none.
func (g *Ground) Reference(at int, deps []orchestrator.Result) string {
	if g.Empty() {
		return templates.Scratch
	}
	name, _, _ := strings.Cut(g.step.Recipe.Base, "@")
	if len(deps) > 0 {
		name = deps[0].Reference.Repository
	}
	return name + "@" + g.Digest(at)
}
