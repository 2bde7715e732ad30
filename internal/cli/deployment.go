package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"toa.io/toa/chart"
	"toa.io/toa/document"
	"toa.io/toa/extensions"
	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

func exportDeployment(g *globals) *cobra.Command {
	var registry string
	var mono bool
	cmd := &cobra.Command{
		Use:     "deployment ENVIRONMENT DIR",
		Aliases: []string{"dep"},
		Short:   "Write the Helm chart into an empty directory, and print its path",
		Long: `Deployment writes the chart that a release would be made with. Images stand in
it by digest, so all of them have to be published: it plans as ` + "`toa graph plan`" + `
does, and builds and publishes nothing.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := emptyDirectory(args[1])
			if err != nil {
				return usage(cmd, err)
			}
			s, plan, err := g.planned(cmd, args[0], registry, false, mono)
			if err != nil {
				return err
			}
			defer s.close()
			return s.exportDeployment(cmd.Context(), plan, mono, dir)
		},
	}
	cmd.Flags().BoolVar(&mono, "mono", false, monoUsage)
	cmd.Flags().StringVar(&registry, "registry", "", "take images under this base instead of registry.base")
	return cmd
}

// emptyDirectory is the absolute path of a directory that may be written into.
func emptyDirectory(path string) (string, error) {
	dir, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return dir, nil
	case err != nil:
		return "", fmt.Errorf("expected an empty directory: %w", err)
	case len(entries) > 0:
		return "", fmt.Errorf("expected an empty directory, found %s in %s", document.Quote(entries[0].Name()), path)
	}
	return dir, nil
}

func (s *session) exportDeployment(ctx context.Context, plan *orchestrator.Plan, mono bool, dir string) error {
	deployment, err := s.declare(ctx, mono)
	if err != nil {
		return err
	}
	if err := errors.Join(chart.Check(s.workspace), chart.CheckDeployment(deployment)); err != nil {
		return err
	}
	references, err := s.published(plan, deployment)
	if err != nil {
		return err
	}
	made, err := chart.New(chart.Input{Workspace: s.workspace, Deployment: deployment, References: references, Versions: plan.Versions})
	if err != nil {
		return err
	}
	if err := writeChart(made, dir); err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	_, err = fmt.Fprintln(s.io.Out, dir)
	return err
}

// published are the references of all units, each with a digest.
func (s *session) published(plan *orchestrator.Plan, d *extensions.Deployment) (map[graph.ID]string, error) {
	references := map[graph.ID]string{}
	missing := &unpublishedError{environment: s.chain}
	for _, u := range d.Units {
		reference := plan.Published[u.ID]
		if step, ok := plan.Step(u.ID); ok {
			reference = step.Reference
		}
		if reference.Digest == "" {
			missing.images = append(missing.images, string(u.ID))
		}
		references[u.ID] = reference.String()
	}
	if len(missing.images) > 0 {
		return nil, missing
	}
	return references, nil
}

// unpublishedError is a chart that cannot be made yet.
type unpublishedError struct {
	images      []string
	environment string
}

func (e *unpublishedError) Error() string {
	return count(len(e.images), "image") + " not known to be published, expected a digest of each: " + strings.Join(e.images, ", ")
}

// Hint says how to publish them.
func (e *unpublishedError) Hint() string {
	return "run `toa graph build " + cmp.Or(e.environment, `""`) + " --release none` first"
}

func writeChart(c *chart.Chart, dir string) error {
	for _, f := range c.Files {
		file := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
