// Package buildkit makes images in BuildKit engines: what a recipe runs inside
// the image runs there. It knows engines, their addresses and the Dockerfile of
// a recipe; it publishes nothing.
//
// Its users may rely on this: an engine gets exactly the files that were
// hashed; secrets are seen by RUN steps only; of what an engine has built only
// that is sent here which neither the base nor the cache has; no engine tags or
// pushes an image; when a call returns, its connections are closed.
package buildkit

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

// Builder builds images in one or several engines. Images and Address must be
// set. Make one for a run: it remembers what the engines can do.
type Builder struct {
	// Images reads bases and keeps what engines send.
	Images *images.Native
	// Address is where the engines are, separated by commas: see ParseAddresses.
	Address string
	// Cache is a repository of a registry, below which the engines keep their
	// cache of each image; empty means that they keep it to themselves.
	Cache string
	// Observe gets the engines' output; it may be nil.
	Observe orchestrator.Observe

	fleet fleet
}

var _ orchestrator.Builder = (*Builder)(nil)

// Build implements orchestrator.Builder. The platforms of an image are built at
// the same time, each in the engine that suits it best.
func (b *Builder) Build(ctx context.Context, step orchestrator.Step, deps []orchestrator.Result) (orchestrator.Artifact, error) {
	given, err := images.ContextOf(step)
	if err != nil {
		return nil, err
	}
	cache, err := cacheRepository(b.Cache)
	if err != nil {
		return nil, err
	}
	engines, err := b.fleet.engines(b.Address)
	if err != nil {
		return nil, err
	}
	ground, err := b.Images.Ground(ctx, step, deps)
	if err != nil {
		return nil, err
	}
	secrets, err := readSecrets(given.Secrets)
	if err != nil {
		return nil, err
	}
	b.notice(step)
	job := &job{builder: b, step: step, deps: deps, ground: ground, parts: given.Parts, plain: given.Plain, secrets: secrets, cache: cache, engines: engines}
	manifests, err := job.platforms(ctx)
	if err != nil {
		return nil, err
	}
	return ground.Assemble(ctx, manifests)
}

// notice tells of packages that are as good as today's registry.
func (b *Builder) notice(step orchestrator.Step) {
	for i, install := range step.Recipe.Installs {
		if b.Observe != nil && install.LockName == "" {
			b.Observe(orchestrator.NoticeEvent{Text: step.Sources[i].Component + " has no lockfile: its packages are not reproducible"})
		}
	}
}

// job is one Build.
type job struct {
	builder *Builder
	step    orchestrator.Step
	deps    []orchestrator.Result
	ground  *images.Ground
	parts   []images.ContextPart
	plain   []string
	secrets secrets
	cache   string
	engines []*engine
}

// platforms builds the image of each platform and returns the digests of their
// manifests.
func (j *job) platforms(ctx context.Context) ([]string, error) {
	manifests := make([]string, len(j.step.Recipe.Platforms))
	group, ctx := errgroup.WithContext(ctx)
	for i, platform := range j.step.Recipe.Platforms {
		group.Go(func() (err error) {
			if manifests[i], err = j.platform(ctx, i); err != nil && len(manifests) > 1 {
				err = fmt.Errorf("%s: %w", platform, err)
			}
			return err
		})
	}
	return manifests, group.Wait()
}

func (j *job) platform(ctx context.Context, at int) (string, error) {
	on, release, err := j.builder.fleet.take(ctx, j.engines, j.step.Recipe.Platforms[at], runs(j.step))
	if err != nil {
		return "", err
	}
	defer release()
	return j.solve(ctx, on, at)
}

// runs tells whether something of the recipe runs inside the image, so that it
// takes the platform's processor or an emulation of it.
func runs(step orchestrator.Step) bool {
	r := &step.Recipe
	return len(r.Runs)+len(r.Installs)+len(r.Packages) > 0 || r.Template != ""
}
