package docker

import (
	"fmt"
	"path/filepath"
	"strings"

	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// base is what a Dockerfile's FROM says, and what it takes to be understood.
type base struct {
	// name is what FROM says.
	name string
	// stages go before the Dockerfile, a line each.
	stages string
	// contexts are "name=source" of named contexts.
	contexts []string
}

// dependenciesName is what an image of ours on disk is called in a Dockerfile.
const dependenciesName = "toa-base"

// base finds what the image starts from, pinned by digest for each platform.
func (b *Builder) base(step orchestrator.Step, deps []orchestrator.Result) (base, error) {
	recipe := &step.Recipe
	switch {
	case len(deps) > 0:
		return b.dependency(deps[0].Reference), nil
	case recipe.Base == templates.Scratch:
		return base{name: templates.Scratch}, nil
	case len(recipe.Digests) != len(recipe.Platforms):
		return base{}, fmt.Errorf("base image %s is not pinned for each platform", recipe.Base)
	}
	var found base
	found.stages, found.name = images.Stages(*recipe, func(digest, name string) string {
		one := b.pinned(recipe.Base, digest, name)
		found.contexts = append(found.contexts, one.contexts...)
		return one.name
	})
	return found, nil
}

// dependency is the image that a step's dependencies are in: it is published by
// now.
func (b *Builder) dependency(ref orchestrator.Reference) base {
	if b.Layout != nil {
		return onDisk(filepath.Join(b.Layout.Dir, filepath.FromSlash(ref.Repository)), ref.Digest, dependenciesName)
	}
	return base{name: ref.String()}
}

// pinned is an image by its digest; one on disk is known to the Dockerfile
// under a name.
func (b *Builder) pinned(reference, digest, name string) base {
	if dir, _, ok := images.LayoutReference(b.Root, reference); ok {
		return onDisk(dir, digest, name)
	}
	bare, _, _ := strings.Cut(reference, "@")
	return base{name: bare + "@" + digest}
}

func onDisk(dir, digest, name string) base {
	return base{name: name, contexts: []string{name + "=oci-layout://" + dir + "@" + digest}}
}
