package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/internal/sdk"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
)

// build is `graph build`: read, plan, build, publish, release.
func (g *globals) build(cmd *cobra.Command, environment string, f *buildFlags) error {
	trust, err := f.check(cmd)
	if err != nil {
		return err
	}
	return g.show(f, func(sink ui.Sink) (orchestrator.Summary, error) {
		return g.buildWith(cmd.Context(), environment, f, trust, sink)
	})
}

// show runs something with a sink for what it tells, and says how it ended.
func (g *globals) show(f *buildFlags, run func(ui.Sink) (orchestrator.Summary, error)) error {
	sink, err := g.sink(f)
	if err != nil {
		return err
	}
	summary, err := run(sink)
	if errors.Is(err, sdk.ErrNeeded) {
		return err // the sink has told nothing yet, and the full binary opens its own
	}
	if err != nil && f.output == "json" {
		sink.Observe(orchestrator.SummaryEvent{Summary: orchestrator.Summary{Err: err}})
	}
	if err == nil && !summary.OK {
		err = shown(summary)
	}
	return errors.Join(err, sink.Close())
}

// shown is the error of a run whose failed images the sink has told of already.
func shown(s orchestrator.Summary) error {
	var failed *orchestrator.BuildError
	if errors.As(s.Err, &failed) && s.Failures[failed.ID] != nil {
		return &exitError{exitFailed}
	}
	return s.Err
}

// check refuses what cannot be done before anything is touched.
func (f *buildFlags) check(cmd *cobra.Command) (orchestrator.Trust, error) {
	if err := f.checkRelease(cmd); err != nil {
		return orchestrator.Trust{}, err
	}
	if err := f.checkBuilder(cmd); err != nil {
		return orchestrator.Trust{}, err
	}
	if err := f.checkNightly(cmd); err != nil {
		return orchestrator.Trust{}, err
	}
	if f.jobs < 0 {
		return orchestrator.Trust{}, usage(cmd, fmt.Errorf("--jobs takes a positive number, not %d", f.jobs))
	}
	verify := f.verify
	if f.fromShards {
		verify = "always" // what other machines have published is not known here
	}
	trust, err := orchestrator.ParseTrust(verify)
	if err != nil {
		return trust, usage(cmd, fmt.Errorf("--verify: %w", err))
	}
	return trust, nil
}

func (f *buildFlags) checkRelease(cmd *cobra.Command) error {
	if err := oneOf(cmd, "release", f.release, releaseAuto, releaseApply, releasePackage, releaseNone); err != nil {
		return err
	}
	if f.timeout < 0 {
		return usage(cmd, fmt.Errorf("--timeout takes a positive time, not %s", f.timeout))
	}
	return nil
}

// sink shows the run as asked for, and writes reports besides.
func (g *globals) sink(f *buildFlags) (ui.Sink, error) {
	main, err := g.mainSink(f)
	if err != nil {
		return nil, err
	}
	sinks := []ui.Sink{main}
	for _, report := range []struct {
		path string
		open func(string) (ui.Sink, error)
	}{
		{f.summary, ui.CreateReport},
		{g.io.Env("GITHUB_STEP_SUMMARY"), ui.AppendReport},
		{f.trace, ui.CreateTrace},
		{f.junit, ui.CreateJUnit},
	} {
		if report.path == "" {
			continue
		}
		sink, err := report.open(report.path)
		if err != nil {
			return nil, &configurationError{err}
		}
		sinks = append(sinks, sink)
	}
	return ui.Tee(sinks...), nil
}

func (g *globals) buildWith(ctx context.Context, environment string, f *buildFlags, trust orchestrator.Trust, sink ui.Sink) (orchestrator.Summary, error) {
	s, err := g.enter(environment)
	if err != nil {
		return orchestrator.Summary{}, err
	}
	defer s.close()
	if summary, done := s.repeat(ctx, f, trust, sink); done {
		return summary, nil
	}
	if err := s.readPlanned(ctx, f.registry, f.mono); err != nil {
		return orchestrator.Summary{}, err
	}
	s.notice = func(text string) { sink.Observe(orchestrator.NoticeEvent{Text: text}) }
	for _, n := range s.workspace.Notices {
		s.notice(noticeText(n))
	}
	return s.run(ctx, f, trust, sink.Observe)
}

// run plans what was read, and carries it out.
func (s *session) run(ctx context.Context, f *buildFlags, trust orchestrator.Trust, observe orchestrator.Observe) (orchestrator.Summary, error) {
	registry, builder, err := s.makers(f, observe)
	if err != nil {
		return orchestrator.Summary{}, err
	}
	delivery, err := s.delivery(f, registry, observe)
	if err != nil {
		return orchestrator.Summary{}, err
	}
	if err := s.pinBases(ctx, f); err != nil {
		return orchestrator.Summary{}, err
	}
	remote, _ := registry.(*images.Remote)
	share := s.sharing(remote)
	plan, err := s.ready(ctx, f, delivery)
	if err != nil {
		return orchestrator.Summary{}, err
	}
	o := orchestrator.Orchestrator{
		Index:     s.published(f.local),
		Builder:   builder,
		Registry:  registry,
		Claims:    cache.Claims{Dir: filepath.Join(s.cache, claimsDir)},
		Observe:   observe,
		Foresee:   images.CheckArguments,
		Share:     share,
		Jobs:      f.jobs,
		KeepGoing: f.keepGoing,
		IndexOnly: f.indexOnly,
		Trust:     trust,
		Complete:  f.fromShards,
		Audit:     comparer(f, registry),
		History:   s.index,
		Release:   delivery,
	}
	summary := o.Build(ctx, plan)
	return summary, s.follow(ctx, f, o, plan, summary)
}

// follow does what comes after a run: it costs no run its success, but for images
// that were to be loaded.
func (s *session) follow(ctx context.Context, f *buildFlags, o orchestrator.Orchestrator, plan *orchestrator.Plan, summary orchestrator.Summary) error {
	if ctx.Err() == nil {
		s.tidy(ctx, summary)
		s.keepStanding(f, o, plan, summary)
	}
	if layout, ok := o.Registry.(*images.Layout); ok && f.local && summary.OK {
		return s.loadBuilt(ctx, summary, layout)
	}
	return nil
}

// ready plans, and finds what is wrong before anything is built.
func (s *session) ready(ctx context.Context, f *buildFlags, delivery *orchestrator.Delivery) (*orchestrator.Plan, error) {
	plan, err := s.buildPlan(ctx, f)
	if err != nil {
		return nil, err
	}
	if err := s.checkSaved(ctx, f, plan, delivery); err != nil {
		return nil, err
	}
	return plan, s.checkDelivery(ctx, delivery, plan)
}

func (s *session) buildPlan(ctx context.Context, f *buildFlags) (*orchestrator.Plan, error) {
	planner := s.planner()
	planner.Rebuild = f.anew()
	planner.Index = s.published(f.local)
	if f.locked {
		if err := s.checkLockfiles(); err != nil {
			return nil, err
		}
	}
	plan, err := planner.Plan(ctx)
	if err != nil {
		return nil, err
	}
	return plan, s.narrow(plan, f)
}

// checkLockfiles refuses packages that no lockfile pins: their image could not
// be made again.
func (s *session) checkLockfiles() error {
	for _, c := range s.workspace.Components {
		switch {
		case c.Lacks == "":
		case s.staged != nil:
			return &configurationError{fmt.Errorf("%s/package.json has dependencies and no lockfile: expected %s among the srcs of toa_workspace", c.Dir, c.Lacks)}
		default:
			return &configurationError{fmt.Errorf("%s/package.json has dependencies and no lockfile, which --locked refuses: run `npm install` in %s, and commit %s", c.Dir, path.Dir(c.Lacks), path.Base(c.Lacks))}
		}
	}
	return nil
}

// client speaks to registries as the context says.
func (s *session) client() *images.Client {
	return &images.Client{Insecure: s.workspace.Context.Registry.Insecure, Notice: s.notice}
}

// makers are what builds images and where they go.
func (s *session) makers(f *buildFlags, observe orchestrator.Observe) (orchestrator.Registry, orchestrator.Builder, error) {
	client := s.client()
	blobs, err := cache.OpenBlobs(s.cache)
	if err != nil {
		return nil, nil, err
	}
	native := &images.Native{
		Blobs:    blobs,
		Client:   client,
		Root:     s.root,
		NPMCache: filepath.Join(s.cache, npmDir),
		Observe:  observe,
	}
	var registry orchestrator.Registry = &images.Remote{Client: client, Blobs: blobs, Losses: s.index}
	if s.registry == "" || f.local {
		native.Layout = &images.Layout{Dir: filepath.Join(s.cache, imagesDir), Blobs: blobs}
		registry = native.Layout
	}
	builder, err := s.engines(f, native, observe).builder()
	return registry, s.finished(builder), err
}

// epoch is the time that files in images carry (reproducible-builds.org:
// SOURCE_DATE_EPOCH, in seconds).
func (g *globals) epoch() (int64, error) {
	text := g.io.Env("SOURCE_DATE_EPOCH")
	if text == "" {
		return 0, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return 0, &configurationError{fmt.Errorf("SOURCE_DATE_EPOCH is %q: expected seconds since 1970", text)}
	}
	return seconds, nil
}
