package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/graph"
)

// probes bounds how many questions are put to a registry at a time.
const probes = 16

// settle asks the registry what the index does not know or may not be trusted
// with, so that afterwards the plan says exactly what has to be built.
func (r *run) settle(ctx context.Context) error {
	releasing, err := r.releasing(ctx)
	if err != nil {
		return err
	}
	r.relies = releasing && r.Trust.mode != trustNever
	if err := r.ask(ctx, func(s *Step) bool {
		return s.ID.Kind() != KindDependencies && (!s.Cached && !s.Anew && !r.IndexOnly || s.Cached && r.Trust.asks(*s, releasing, time.Now()))
	}); err != nil {
		return err
	}
	// Dependencies images are asked for last: most turn out not to be needed.
	needed := r.neededDependencies()
	if err := r.ask(ctx, func(s *Step) bool {
		return needed[s.ID] && !s.Anew && (s.Reference.Digest == "" && !r.IndexOnly || s.Cached && r.Trust.mode == trustAlways)
	}); err != nil {
		return err
	}
	r.plan.spareDependencies()
	return nil
}

// releasing tells whether a release will be made.
func (r *run) releasing(ctx context.Context) (bool, error) {
	if r.Release == nil {
		return false, nil
	}
	current, err := r.Release.Current(ctx, r.plan)
	if err != nil {
		return false, fmt.Errorf("release: %w", err)
	}
	return !current, nil
}

func (r *run) neededDependencies() map[graph.ID]bool {
	needed := r.plan.needed()
	for i := range r.plan.Steps {
		// What was spared while nothing needed it has to be looked at again.
		if s := &r.plan.Steps[i]; needed[s.ID] && s.Cached && s.Reference.Digest == "" {
			s.Cached, s.Reason = false, "not known to be published"
		}
	}
	return needed
}

// ask puts one question to the registry for each step that is picked.
func (r *run) ask(ctx context.Context, pick func(*Step) bool) error {
	return r.each(ctx, pick, r.probe)
}

// each does something for each step that is picked, in parallel and in no order.
func (r *run) each(ctx context.Context, pick func(*Step) bool, do func(context.Context, *Step) error) error {
	var targets []graph.Target
	steps := map[graph.ID]*Step{}
	for i := range r.plan.Steps {
		if s := &r.plan.Steps[i]; pick(s) {
			steps[s.ID] = s
			targets = append(targets, graph.Target{ID: s.ID})
		}
	}
	if len(targets) == 0 {
		return nil
	}
	g, err := graph.New(targets)
	if err != nil {
		return err
	}
	_, err = graph.Walk(ctx, g, probes, func(ctx context.Context, t graph.Target, _ []struct{}) (struct{}, error) {
		return struct{}{}, do(ctx, steps[t.ID])
	})
	return err
}

// probe brings a step in line with what the registry says of its tag.
func (r *run) probe(ctx context.Context, s *Step) error {
	digest, err := r.has(ctx, s)
	host := RegistryHost(r.plan.Registry)
	switch {
	case errors.Is(err, cache.ErrNotFound):
		if s.Cached {
			r.Index.Forget(host, s.Reference.Repository, s.Key)
			s.Cached, s.Reason, s.Reference.Digest, s.Previous = false, "it is gone from the registry", "", ""
		}
		return nil
	case err != nil:
		return &BuildError{ID: s.ID, Err: err}
	}
	if !s.Cached {
		s.Reason = "found in the registry"
	} else if s.Reference.Digest != digest {
		r.Observe.send(NoticeEvent{Text: s.Reference.String() + " has moved to " + digest + " in the registry, which is kept: its inputs are the same"})
	}
	s.Cached, s.Reference.Digest, s.VerifiedAt = true, digest, time.Now()
	r.record(*s)
	return nil
}

// record remembers a published image. What cannot be remembered is asked for
// next time.
func (r *run) record(s Step) {
	if r.isNews(s) {
		r.news.Store(true)
	}
	_ = r.Index.Put(RegistryHost(r.plan.Registry), s.Reference.Repository, s.Key, cache.Entry{
		Digest:     s.Reference.Digest,
		Platforms:  s.Recipe.Platforms,
		VerifiedAt: s.VerifiedAt,
	}, string(s.ID), Inputs(s))
}
