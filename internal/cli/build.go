package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/graph"
	"toa.io/toa/images"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
	"toa.io/toa/workspace"
)

// build is `graph build`: read, plan, build, publish, release.
func (g *globals) build(cmd *cobra.Command, environment string, f *buildFlags) error {
	trust, err := f.check(cmd)
	if err != nil {
		return err
	}
	sink, err := g.sink(f)
	if err != nil {
		return err
	}
	summary, err := g.buildWith(cmd.Context(), environment, f, trust, sink)
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
	switch f.release {
	case "auto", "package", "none":
	case "apply":
		return orchestrator.Trust{}, usage(cmd, errors.New("--release apply is not there yet: use --release package, and the command that it prints"))
	default:
		return orchestrator.Trust{}, usage(cmd, fmt.Errorf("unknown release %q: use auto, apply, package or none", f.release))
	}
	switch f.builder {
	case "", "auto", "native":
	case "buildkit", "docker":
		return orchestrator.Trust{}, usage(cmd, fmt.Errorf("--builder %s is not there yet: use native", f.builder))
	default:
		return orchestrator.Trust{}, usage(cmd, fmt.Errorf("unknown builder %q: use auto, native, buildkit or docker", f.builder))
	}
	if f.jobs < 0 {
		return orchestrator.Trust{}, usage(cmd, fmt.Errorf("--jobs takes a positive number, not %d", f.jobs))
	}
	trust, err := orchestrator.ParseTrust(f.verify)
	if err != nil {
		return trust, usage(cmd, fmt.Errorf("--verify: %w", err))
	}
	return trust, nil
}

// sink shows the run as asked for, and writes reports besides.
func (g *globals) sink(f *buildFlags) (ui.Sink, error) {
	main, err := ui.New(f.output, g.io.Out, g.io.Err, g.io.Env)
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
	s, err := g.open(environment, f.registry)
	if err != nil {
		return orchestrator.Summary{}, err
	}
	defer s.close()
	notice := func(text string) { sink.Observe(orchestrator.NoticeEvent{Text: text}) }
	for _, n := range s.workspace.Notices {
		notice(noticeText(n))
	}
	delivery, err := s.delivery(f, notice)
	if err != nil {
		return orchestrator.Summary{}, err
	}
	if err := s.ensureLock(ctx, f.locked, notice); err != nil {
		return orchestrator.Summary{}, err
	}
	plan, err := s.buildPlan(ctx, f)
	if err != nil {
		return orchestrator.Summary{}, err
	}
	registry, builder, err := s.makers(sink.Observe)
	if err != nil {
		return orchestrator.Summary{}, err
	}
	o := orchestrator.Orchestrator{
		Index:     s.index,
		Builder:   builder,
		Registry:  registry,
		Observe:   sink.Observe,
		Jobs:      f.jobs,
		KeepGoing: f.keepGoing,
		Rebuild:   f.rebuild,
		IndexOnly: f.indexOnly,
		Trust:     trust,
		Release:   delivery,
	}
	return o.Build(ctx, plan), nil
}

func (s *session) buildPlan(ctx context.Context, f *buildFlags) (*orchestrator.Plan, error) {
	planner := s.planner()
	planner.Rebuild = f.rebuild
	if f.locked {
		if err := s.checkLockfiles(); err != nil {
			return nil, err
		}
	}
	plan, err := planner.Plan(ctx)
	if err != nil || len(f.only) == 0 {
		return plan, err
	}
	err = plan.Restrict(f.only)
	return plan, err
}

// checkLockfiles refuses packages that no lockfile pins: their image could not
// be made again.
func (s *session) checkLockfiles() error {
	for _, c := range s.workspace.Components {
		if c.HasDependencies && c.Lock == "" {
			return &configurationError{fmt.Errorf("%s/package.json has dependencies and no lockfile, which --locked refuses: run `npm install` there, and commit package-lock.json", c.Dir)}
		}
	}
	return nil
}

// makers are what builds images and where they go.
func (s *session) makers(observe orchestrator.Observe) (orchestrator.Registry, *images.Native, error) {
	client := &images.Client{}
	blobs, err := cache.OpenBlobs(s.cache)
	if err != nil {
		return nil, nil, err
	}
	builder := &images.Native{
		Blobs:    blobs,
		Client:   client,
		Root:     s.root,
		NPMCache: filepath.Join(s.cache, "npm"),
		Observe:  observe,
	}
	if s.registry != "" {
		return &images.Remote{Client: client, Blobs: blobs}, builder, nil
	}
	builder.Layout = &images.Layout{Dir: filepath.Join(s.cache, imagesDir), Blobs: blobs}
	return builder.Layout, builder, nil
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

// delivery is the release that the run ends with; nil means none.
func (s *session) delivery(f *buildFlags, notice func(string)) (*orchestrator.Delivery, error) {
	if f.release == "none" || len(f.only) > 0 {
		return nil, nil
	}
	if err := chart.Check(s.workspace); err != nil {
		return nil, err
	}
	settings := s.workspace.Context.Release
	settings.Context = cmp.Or(f.kubeContext, settings.Context)
	settings.Namespace = cmp.Or(f.namespace, settings.Namespace)
	settings.Timeout = cmp.Or(f.timeout, settings.Timeout)
	settings.Wait = f.wait || settings.Wait
	settings.Atomic = f.atomic || settings.Atomic
	if f.release == "auto" && settings.Context != "" {
		notice("the release is packaged and not applied: applying to a cluster (" + settings.Context + ") is not there yet")
	}
	inputs, err := s.chartInputs()
	if err != nil {
		return nil, err
	}
	return &orchestrator.Delivery{
		Releaser: &release.Packager{Dir: s.chartDir(), Settings: settings},
		Inputs:   inputs,
		Chart:    s.chart,
	}, nil
}

// chartDir keeps packages of workspaces and environments apart.
func (s *session) chartDir() string {
	h := cache.NewHasher("toa/chart-dir/v1")
	h.Field("root", s.root)
	h.Field("environment", s.chain)
	return filepath.Join(s.cache, "charts", s.workspace.Context.Name+"-"+h.Sum().Tag()[:8])
}

// chartInputs is the key of all that the chart is made of besides images and
// versions: the context, the environment and the chart's own templates. What
// manifests declare is in the versions or in the images.
func (s *session) chartInputs() (cache.Key, error) {
	context, err := s.files.Digest(workspace.ContextFile)
	if err != nil {
		return cache.Key{}, err
	}
	h := cache.NewHasher("toa/chart/v1")
	h.Key("context", context)
	h.Field("environment", s.chain)
	h.Field("templates", chart.Source())
	return h.Sum(), nil
}

func (s *session) chart(references map[graph.ID]orchestrator.Reference, versions map[string]string) (*chart.Chart, error) {
	in := chart.Input{Workspace: s.workspace, References: map[graph.ID]string{}, Versions: versions}
	for id, reference := range references {
		in.References[id] = reference.String()
	}
	return chart.New(in)
}
