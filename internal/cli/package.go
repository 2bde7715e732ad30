package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/graph"
	"toa.io/toa/images"
	"toa.io/toa/internal/sdk"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
	"toa.io/toa/workspace"
)

// gzipMagic begins every package of a chart.
const gzipMagic = "\x1f\x8b"

// applyPublished releases a package that a registry has.
func (g *globals) applyPublished(cmd *cobra.Command, address string, f *buildFlags) error {
	reference, err := orchestrator.ParseReference(strings.TrimPrefix(address, images.ChartScheme))
	if err != nil {
		return usage(cmd, err)
	}
	remote := &images.Remote{Client: &images.Client{}}
	data, err := remote.FetchChart(cmd.Context(), reference)
	if err != nil {
		return err
	}
	return g.applyPackage(cmd, data, f)
}

// applyPackage releases a package to the cluster that is named.
func (g *globals) applyPackage(cmd *cobra.Command, data []byte, f *buildFlags) error {
	if err := f.checkRelease(cmd); err != nil {
		return err
	}
	made, err := release.Unpack(data)
	if err != nil {
		return err
	}
	settings := f.over(workspace.Release{})
	if _, err := g.ending(releaseApply, &settings); err != nil {
		return err
	}
	if err := sdk.Needed(); err != nil {
		return err
	}
	return g.show(f, func(sink ui.Sink) (orchestrator.Summary, error) {
		return releaseOnly(cmd.Context(), made, cache.Digest(data), sink, &sdk.Releaser{
			Target:          release.Target{Context: settings.Context, Namespace: settings.Namespace, Name: made.Name},
			Settings:        settings,
			CreateNamespace: f.createNamespace,
			Observe:         sink.Observe,
		})
	})
}

// releaseOnly is a run that has nothing to build.
func releaseOnly(ctx context.Context, made *chart.Chart, inputs cache.Key, sink ui.Sink, releaser *sdk.Releaser) (orchestrator.Summary, error) {
	delivery := &orchestrator.Delivery{
		Releaser: releaser,
		Inputs:   inputs,
		Chart: func(map[graph.ID]orchestrator.Reference, map[string]string) (*chart.Chart, error) {
			return made, nil
		},
	}
	nothing, err := graph.New(nil)
	if err != nil {
		return orchestrator.Summary{}, err
	}
	plan := &orchestrator.Plan{Context: made.Name, Graph: nothing}
	if current, err := delivery.Current(ctx, plan); err != nil {
		return orchestrator.Summary{}, err
	} else if !current {
		if err := untouched(delivery.Check(ctx, plan)); err != nil {
			return orchestrator.Summary{}, err
		}
	}
	o := orchestrator.Orchestrator{Registry: &images.Layout{}, Observe: sink.Observe, Release: delivery}
	return o.Build(ctx, plan), nil
}
