package images

import (
	"cmp"
	"context"
	"fmt"

	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// Runtime makes the image that compositions start from. It is made by the
// runtime's makers, and by who cannot reach what they publish.
type Runtime struct {
	// Base is the image of Node.js that it starts from; empty means
	// templates.RuntimeBase. Resolver pins it.
	Base     string
	Resolver orchestrator.Resolver
	// Builder must be one with an engine.
	Builder  orchestrator.Builder
	Registry orchestrator.Registry
}

// Make builds the image with the runtime of a version, for platforms, and
// publishes it as repository:version. A tag that stands is kept.
func (r Runtime) Make(ctx context.Context, repository, version string, platforms []string, npm templates.NPM) (orchestrator.Reference, error) {
	base := cmp.Or(r.Base, templates.RuntimeBase)
	digests := make([]string, len(platforms))
	for i, platform := range platforms {
		var err error
		if digests[i], err = r.Resolver.Resolve(ctx, base, platform); err != nil {
			return orchestrator.Reference{}, err
		}
	}
	recipe, err := templates.Runtime(version, platforms, digests, npm)
	if err != nil {
		return orchestrator.Reference{}, err
	}
	recipe.Base = base
	step := orchestrator.Step{ID: "runtime", Recipe: recipe, Reference: orchestrator.Reference{Repository: repository, Tag: version}}
	step.Key = recipeKey(recipe)
	image, err := r.Builder.Build(ctx, step, nil)
	if err != nil {
		return orchestrator.Reference{}, fmt.Errorf("build %s: %w", step.Reference, err)
	}
	step.Reference.Digest, err = r.Registry.Publish(ctx, step, image)
	return step.Reference, err
}

// recipeKey is of everything that decides an image that copies nothing.
func recipeKey(recipe templates.Recipe) cache.Key {
	h := cache.NewHasher("toa/runtime/v1")
	recipe.Fields(h.Field)
	return h.Sum()
}
