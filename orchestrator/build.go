package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"toa.io/toa/graph"
	"toa.io/toa/internal/failpoint"
)

// built is what a step hands to those that need it: a result, or the reason why
// there is none (only when the run keeps going).
type built struct {
	result Result
	err    error
}

// build builds and publishes every step that is not cached, in parallel,
// dependencies first, longest path first.
func (r *run) build(ctx context.Context) error {
	g, err := r.pending()
	if err != nil || g.Len() == 0 {
		return err
	}
	steps := make(map[graph.ID]*Step, len(r.plan.Steps))
	for i := range r.plan.Steps {
		steps[r.plan.Steps[i].ID] = &r.plan.Steps[i]
	}
	jobs := r.Jobs
	if jobs == 0 {
		jobs = 4
	}
	all, err := graph.Walk(ctx, g, jobs, func(ctx context.Context, t graph.Target, deps []built) (built, error) {
		end := r.step(ctx, steps[t.ID], deps)
		if end.err != nil && !r.KeepGoing {
			return end, end.err
		}
		return end, nil
	})
	r.records.Wait()
	for _, end := range all {
		err = errors.Join(err, end.err)
	}
	return err
}

// pending is the graph of what has to be built and of what that needs.
func (r *run) pending() (*graph.Graph, error) {
	needed := r.plan.needed()
	var targets []graph.Target
	for _, s := range r.plan.Steps {
		if s.Cached && !needed[s.ID] {
			continue
		}
		t := graph.Target{ID: s.ID}
		for _, id := range r.plan.Graph.Dependencies(s.ID) {
			if id.Kind() != KindComponent && needed[id] {
				t.Dependencies = append(t.Dependencies, id)
			}
		}
		targets = append(targets, t)
	}
	return graph.New(targets)
}

// step takes one image from queued to published and recorded, always in this
// order: build, publish (which verifies and tags), record. An image that an audit
// doubts is not recorded.
func (r *run) step(ctx context.Context, s *Step, deps []built) built {
	if s.Cached {
		return built{result: Result{ID: s.ID, Reference: s.Reference}}
	}
	results := make([]Result, len(deps))
	for i, d := range deps {
		if d.err != nil {
			r.ledger.note(*s, StatusSkipped, nil, 0)
			return built{err: fmt.Errorf("%s was not tried: %w", s.ID, errSkipped)}
		}
		results[i] = d.result
	}
	began := time.Now()
	release, err := r.claim(ctx, s)
	if err != nil {
		return r.unmade(ctx, *s, err, began)
	}
	recording := false
	defer func() {
		if !recording {
			release()
		}
	}()
	if err := failpoint.At(failpoint.ClaimTaken); err != nil {
		return r.unmade(ctx, *s, err, began)
	}
	if s.Cached {
		r.ledger.note(*s, StatusCached, nil, 0)
		return built{result: Result{ID: s.ID, Reference: s.Reference}}
	}
	result, err := r.produce(ctx, s, results, began)
	if err != nil {
		return r.unmade(ctx, *s, err, began)
	}
	s.Reference, s.VerifiedAt = result.Reference, time.Now()
	if recording = r.ledger.trusts(s.ID); recording {
		r.remember(*s, release)
	}
	r.ledger.note(*s, StatusPublished, nil, time.Since(began))
	return built{result: result}
}

// remember records an image, and then ends its claim: who waits for that looks
// into the index. Records are written while others are built, and what comes
// meanwhile costs one transaction.
func (r *run) remember(s Step, release func()) {
	r.records.Go(func() {
		defer release()
		r.record(s)
	})
}

// unmade notes why there is no image.
func (r *run) unmade(ctx context.Context, s Step, err error, began time.Time) built {
	if interrupted(ctx, err) {
		r.ledger.note(s, StatusSkipped, nil, time.Since(began))
		return built{err: err}
	}
	if failed := (*BuildError)(nil); !errors.As(err, &failed) {
		err = &BuildError{ID: s.ID, Err: err}
	}
	r.ledger.note(s, StatusFailed, err, time.Since(began))
	return built{err: err}
}

// errSkipped is why an image was not tried whose dependency failed.
var errSkipped = errors.New("what it stands on failed")

func (r *run) produce(ctx context.Context, s *Step, deps []Result, began time.Time) (Result, error) {
	r.ledger.note(*s, StatusBuilding, nil, 0)
	artifact, err := r.Builder.Build(ctx, *s, deps)
	if err != nil {
		return Result{}, fmt.Errorf("build: %w", err)
	}
	if err := failpoint.At(failpoint.ImageBuilt); err != nil {
		return Result{}, err
	}
	r.ledger.built(*s, time.Since(began))
	if r.Audit != nil && s.Anew {
		if err := r.audit(ctx, s, deps, artifact); err != nil {
			return Result{}, fmt.Errorf("audit: %w", err)
		}
	}
	r.ledger.note(*s, StatusPublishing, nil, time.Since(began))
	digest, err := r.Registry.Publish(ctx, *s, artifact)
	if err != nil {
		return Result{}, fmt.Errorf("publish: %w", err)
	}
	if err := failpoint.At(failpoint.ImagePublished); err != nil {
		return Result{}, err
	}
	if digest != artifact.Digest() {
		r.kept(s, artifact, digest)
		artifact = nil
	}
	reference := s.Reference
	reference.Digest = digest
	return Result{ID: s.ID, Reference: reference, Artifact: artifact}, nil
}

// kept tells that another image stands under the tag than was made.
func (r *run) kept(s *Step, made Artifact, digest string) {
	switch {
	case r.Audit != nil && s.Anew: // what was found says so
	case s.Anew:
		r.Observe.send(NoticeEvent{Text: fmt.Sprintf("%s is published as %s, which is kept; the rebuild is %s: --audit says in what they differ", s.Reference, digest, made.Digest())})
	default:
		r.Observe.send(NoticeEvent{Text: fmt.Sprintf("%s was published meanwhile as %s, which is kept: its inputs are the same", s.Reference, digest)})
	}
}
