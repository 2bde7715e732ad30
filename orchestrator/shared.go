package orchestrator

import (
	"context"
	"path"
	"strings"
)

// Base is where the repositories of a workspace are: below a registry's base,
// under the context's name.
func Base(registry, context string) string { return path.Join(registry, strings.ToLower(context)) }

// consult asks what other machines have published where the index misses an
// image, and looks again.
func (p Planner) consult(ctx context.Context, plan *Plan) {
	if p.Shared == nil || p.Rebuild || !plan.Changes() {
		return
	}
	p.Shared(ctx)
	for i := range plan.Steps {
		s := &plan.Steps[i]
		s.Cached = false
		p.lookUp(s)
	}
	plan.spareDependencies()
}

// share tells other machines what this run has recorded, also of one that failed.
func (r *run) share(ctx context.Context) {
	if r.Share != nil && r.news.Load() && ctx.Err() == nil {
		r.Share(ctx)
	}
}

// isNews tells whether a step says more than the index knows.
func (r *run) isNews(s Step) bool {
	known, err := r.Index.Get(RegistryHost(r.plan.Registry), s.Reference.Repository, s.Key)
	return err != nil || known.Digest != s.Reference.Digest
}
