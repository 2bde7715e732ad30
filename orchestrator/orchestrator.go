package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/graph"
)

// Orchestrator carries a plan out. Index, Builder and Registry must be set.
type Orchestrator struct {
	Index    Index
	Builder  Builder
	Registry Registry
	// Claims may be nil: then other processes are not looked at.
	Claims  Claims
	Observe Observe
	// Foresee tells, once it is known what has to be built, what would go wrong;
	// then nothing is built. It may be nil.
	Foresee func([]Step) error
	// Share tells other machines what the index has learnt, before the release is
	// made; it is called once where there is something new. It may be nil.
	Share func(context.Context)
	// Jobs bounds how many images are built at a time; default 4.
	Jobs int
	// KeepGoing builds what it can after a failure. Nothing is released either way.
	KeepGoing bool
	// Complete builds nothing: an image that is not published is an error.
	Complete bool
	// IndexOnly takes what the index does not know as not published.
	IndexOnly bool
	Trust     Trust
	// Audit compares what is built anew with what is published; nil means not to.
	// An image that it condemns is an *AuditError, and nothing is released.
	Audit Comparer
	// History has the durations of earlier rebuilds; nil means that nobody asks.
	History History
	// Release makes the release once every image is published; nil means none.
	Release *Delivery
}

// Delivery is the release that a run ends with.
type Delivery struct {
	Releaser Releaser
	// Inputs is the key of what the chart is made of besides the images.
	Inputs cache.Key
	// Chart makes the chart of references by image and versions by component.
	Chart func(references map[graph.ID]Reference, versions map[string]string) (*chart.Chart, error)
	// Tagger moves Tag to the images that run once a release has landed in a
	// cluster; nil or an empty tag means that nothing is moved.
	Tagger Tagger
	Tag    string

	// asked keeps the last answer of the releaser: each costs a question to a
	// cluster, and an unchanged run has three uses for it.
	asked struct {
		key      cache.Key
		standing Release
		current  bool
	}
}

// Current tells whether the release that stands was made of what the plan says,
// so that nothing has to be released.
func (d *Delivery) Current(ctx context.Context, p *Plan) (bool, error) {
	if p.Changes() {
		return false, nil
	}
	_, current, err := d.standing(ctx, d.key(p))
	return current, err
}

// standing describes the release that stands if it is made of the inputs.
func (d *Delivery) standing(ctx context.Context, key cache.Key) (Release, bool, error) {
	if d.asked.key == key {
		return d.asked.standing, d.asked.current, nil
	}
	standing, current, err := d.Releaser.Current(ctx, key)
	if err != nil {
		return Release{}, false, err
	}
	d.asked.key, d.asked.standing, d.asked.current = key, standing, current
	return standing, current, nil
}

// Check finds, before anything is built, what would keep the release from landing.
func (d *Delivery) Check(ctx context.Context, p *Plan) error {
	c, err := d.Planned(p)
	if err != nil {
		return err
	}
	return d.Releaser.Check(ctx, c)
}

// Planned is the chart as it will be, with Placeholder for the digests of images
// that are not built yet.
func (d *Delivery) Planned(p *Plan) (*chart.Chart, error) {
	references := p.references()
	for id, reference := range references {
		if reference.Digest == "" {
			reference.Digest = Placeholder
			references[id] = reference
		}
	}
	return d.Chart(references, p.Versions)
}

// key is of everything that the release is made of.
func (d *Delivery) key(p *Plan) cache.Key {
	if p.released != (cache.Key{}) {
		return p.released
	}
	h := cache.NewHasher("toa/release/v1")
	h.Key("inputs", d.Inputs)
	references := p.references()
	for _, id := range sortedKeys(references) {
		h.Field(string(id), references[id].String())
	}
	for _, id := range sortedKeys(p.Versions) {
		h.Field("version of "+id, p.Versions[id])
	}
	return h.Sum()
}

// references are the images that a release runs, by unit.
func (p *Plan) references() map[graph.ID]Reference {
	references := maps.Clone(p.Published)
	for _, s := range p.Steps {
		if s.ID.Kind() != KindDependencies {
			references[s.ID] = s.Reference
		}
	}
	return references
}

// BuildError is an image that could not be built or published.
type BuildError struct {
	ID  graph.ID
	Err error
}

func (e *BuildError) Error() string { return fmt.Sprintf("%s: %v", e.ID, e.Err) }
func (e *BuildError) Unwrap() error { return e.Err }

// Build builds what the plan does not find published, publishes it, and makes
// the release when every image is published: all or nothing. It returns when
// everything that it began has ended. The summary, also sent as the last
// event, carries the error.
func (o Orchestrator) Build(ctx context.Context, plan *Plan) Summary {
	run := &run{Orchestrator: o, plan: plan, ledger: newLedger(o.Observe), started: time.Now()}
	err := errors.Join(run.images(ctx), run.audited())
	run.share(ctx)
	if err == nil {
		err = run.release(ctx)
	}
	summary := run.ledger.summary(plan)
	summary.Findings, summary.Paces = run.ledger.findings(), run.paces()
	summary.Release = run.released
	traffic := o.Registry.Traffic()
	summary.RegistryRequests, summary.BytesPushed = traffic.Requests, traffic.Bytes
	summary.Elapsed = time.Since(run.started)
	summary.OK, summary.Err = err == nil, err
	o.Observe.send(SummaryEvent{Summary: summary})
	return summary
}

// run is one Build.
type run struct {
	Orchestrator
	plan     *Plan
	ledger   *ledger
	started  time.Time
	records  sync.WaitGroup // of published images that are being recorded
	released Release
	news     atomic.Bool // something was recorded that the index did not know
	// relies says that a release will be made of images that must be there.
	relies bool
}

func (r *run) images(ctx context.Context) error {
	if err := r.settle(ctx); err != nil {
		return err
	}
	r.Observe.send(PlanEvent{Plan: r.plan})
	for _, s := range r.plan.Steps {
		status := StatusQueued
		if s.Cached {
			status = StatusCached
		}
		r.ledger.note(s, status, nil, 0)
	}
	if r.Complete {
		return r.plan.complete()
	}
	if r.Foresee != nil {
		if err := r.Foresee(r.plan.Steps); err != nil {
			return err
		}
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	return r.build(ctx)
}

func (r *run) release(ctx context.Context) error {
	if r.Release == nil {
		r.released = Release{Status: ReleaseNone}
		return nil
	}
	made, err := r.deliver(ctx, r.plan.references())
	if err != nil {
		made.Status = ReleaseFailed
		err = fmt.Errorf("release: %w", err)
	}
	r.released = made
	r.Observe.send(ReleaseEvent{Release: made})
	if err != nil {
		return err
	}
	return r.tag(ctx)
}

func (r *run) deliver(ctx context.Context, references map[graph.ID]Reference) (Release, error) {
	key := r.Release.key(r.plan)
	if standing, current, err := r.Release.standing(ctx, key); err != nil || current {
		return standing, err
	}
	if err := context.Cause(ctx); err != nil {
		return Release{}, err
	}
	c, err := r.Release.Chart(references, r.plan.Versions)
	if err != nil {
		return Release{}, err
	}
	return r.Release.Releaser.Release(ctx, key, c)
}

// interrupted tells an error that only says that the run was stopped.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx)))
}
