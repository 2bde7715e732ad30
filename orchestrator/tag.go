package orchestrator

import (
	"context"
	"fmt"
	"strings"

	"toa.io/toa/graph"
	"toa.io/toa/internal/lazyregexp"
)

// Tagger moves tags that say where an image runs. Calls overlap.
type Tagger interface {
	// Tag makes a tag of the reference's repository name its digest.
	Tag(ctx context.Context, ref Reference, tag string) error
	// Tagged tells, without asking anybody, whether the tag was moved there
	// before. False where that is not known.
	Tagged(ref Reference, tag string) bool
}

// Both are compiled when they are needed: bounds as large as these take longer
// than the rest of the start.
var (
	// tagName is what the distribution specification allows.
	tagName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	// contentTag is what a tag of content looks like, here or in earlier tools.
	contentTag = lazyregexp.New(`^(deps-)?[0-9a-f]{8,64}$`)
)

// EnvironmentTag is the tag of images that run in an environment, which may be a
// chain of names: the first one counts. It is empty where there is none: no
// environment, or one whose name no tag can have or that looks like a tag of
// content.
func EnvironmentTag(environment string) string {
	name, _, _ := strings.Cut(environment, ":")
	if !tagName.MatchString(name) || contentTag.MatchString(name) {
		return ""
	}
	return name
}

// tag moves the environment's tag to every image that the release runs and that
// was built here. After an unchanged release only what is not known to carry the
// tag is looked at, so that a run which was stopped in between is made up for.
func (r *run) tag(ctx context.Context) error {
	d := r.Release
	if d.Tagger == nil || d.Tag == "" || r.released.Server == "" {
		return nil
	}
	var targets []graph.Target
	steps := map[graph.ID]Step{}
	for _, s := range r.plan.Steps {
		known := r.released.Status == ReleaseUnchanged && d.Tagger.Tagged(s.Reference, d.Tag)
		if s.ID.Kind() != KindDependencies && !known {
			steps[s.ID] = s
			targets = append(targets, graph.Target{ID: s.ID})
		}
	}
	g, err := graph.New(targets)
	if err != nil {
		return err
	}
	_, err = graph.Walk(ctx, g, probes, func(ctx context.Context, t graph.Target, _ []struct{}) (struct{}, error) {
		return struct{}{}, d.Tagger.Tag(ctx, steps[t.ID].Reference, d.Tag)
	})
	if err != nil {
		return fmt.Errorf("the release landed, its tag did not: %w", err)
	}
	return nil
}
