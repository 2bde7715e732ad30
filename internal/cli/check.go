package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"toa.io/toa/chart"
	"toa.io/toa/extensions"
	"toa.io/toa/graph"
	"toa.io/toa/internal/ui"
)

func checkCommand(g *globals) *cobra.Command {
	f := &checkFlags{}
	cmd := &cobra.Command{
		Use:   "check [environment]",
		Short: "Find what is wrong with the workspace, or stale, offline",
		Long: `Check reads everything that a build and a release would be made of. It exits with
2 where that is wrong, and with 3 where a base image is not pinned in toa.lock, or
where the file that --tags names is not what ` + "`toa export tags -o json`" + ` prints.`,
		Example: `  toa export tags production -o json > tags.json
  toa check production --tags tags.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.check(cmd.Context(), environment(g, args), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.tags, "tags", "", "a file of references that has to be up to date")
	flags.StringVar(&f.registry, "registry", "", "references are under this base instead of registry.base")
	flags.BoolVar(&f.mono, "mono", false, monoUsage)
	return cmd
}

// checkFlags are those of `check`.
type checkFlags struct {
	tags, registry string
	mono           bool
}

func (g *globals) check(ctx context.Context, environment string, f *checkFlags) error {
	s, err := g.openPlanned(ctx, environment, f.registry, f.mono)
	if err != nil {
		return err
	}
	defer s.close()
	s.notices()
	if err := errors.Join(s.checkLockfiles(), s.checkChart(ctx)); err != nil {
		return err
	}
	if err := s.checkLock(); err != nil {
		return err
	}
	plan, err := s.planner().Plan(ctx)
	if err != nil || f.tags == "" {
		return err
	}
	return s.checkTags(f.tags, s.tags(plan))
}

// checkChart finds what would keep the chart from being made. Without a version
// the workspace has no chart, which is for those who want images only.
func (s *session) checkChart(ctx context.Context) error {
	if s.workspace.Context.Version == "" {
		return nil
	}
	_, err := s.declareChart(ctx)
	return err
}

// declareChart declares, and finds what would keep the chart from being made.
func (s *session) declareChart(ctx context.Context) (*extensions.Deployment, error) {
	deployment, err := s.declare(ctx)
	if err != nil {
		return nil, err
	}
	return deployment, errors.Join(chart.Check(s.workspace), chart.CheckDeployment(s.workspace, deployment))
}

// checkTags says what a file of references has otherwise.
func (s *session) checkTags(path string, now []tag) error {
	saved, err := readTags(path)
	if err != nil {
		return &configurationError{err}
	}
	if slices.Equal(saved, now) {
		return nil
	}
	was, is := byID(saved), byID(now)
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if was[id] != is[id] {
			fmt.Fprintf(s.io.Out, "%s: %s has %s, expected %s\n", ui.Escape(string(id)), ui.Escape(path), orNothing(was[id]), orNothing(is[id]))
		}
	}
	if maps.Equal(was, is) {
		fmt.Fprintf(s.io.Out, "%s: the images stand in another order\n", ui.Escape(path))
	}
	s.warn(path + " is stale: write it anew with `toa export tags -o json`, or what made it")
	return &exitError{exitWouldChange}
}

func byID(tags []tag) map[graph.ID]string {
	references := map[graph.ID]string{}
	for _, t := range tags {
		references[t.ID] = t.Reference
	}
	return references
}

func orNothing(reference string) string {
	if reference == "" {
		return "nothing"
	}
	return ui.Escape(reference)
}

func readTags(path string) ([]tag, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read tags: %w", err)
	}
	var tags []tag
	if err := json.Unmarshal(data, &tags); err != nil {
		return nil, fmt.Errorf("read tags: %s: %w: expected what `toa export tags -o json` prints", path, err)
	}
	return tags, nil
}
