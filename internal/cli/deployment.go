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
			return s.exportDeployment(cmd.Context(), plan, dir)
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

func (s *session) exportDeployment(ctx context.Context, plan *orchestrator.Plan, dir string) error {
	deployment, err := s.declareChart(ctx)
	if err != nil {
		return err
	}
	references, missing := references(plan, deployment)
	if len(missing) > 0 {
		return &unpublishedError{images: missing, environment: s.chain}
	}
	made, err := s.chart(references, plan.Versions)
	if err != nil {
		return err
	}
	if err := writeChart(made, dir); err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	_, err = fmt.Fprintln(s.io.Out, dir)
	return err
}

// references are those of all units, and the units whose image has no digest: it
// is not known to be published.
func references(plan *orchestrator.Plan, d *extensions.Deployment) (all map[graph.ID]orchestrator.Reference, missing []graph.ID) {
	all = map[graph.ID]orchestrator.Reference{}
	for _, u := range d.Units {
		reference := plan.Published[u.ID]
		if step, ok := plan.Step(u.ID); ok {
			reference = step.Reference
		}
		if reference.Digest == "" {
			missing = append(missing, u.ID)
		}
		all[u.ID] = reference
	}
	return all, missing
}

// unpublishedError is a chart that cannot be made yet.
type unpublishedError struct {
	images      []graph.ID
	environment string
}

func (e *unpublishedError) Error() string {
	return count(len(e.images), "image") + " not known to be published, expected a digest of each: " + listed(e.images)
}

func listed(ids []graph.ID) string { return strings.Join(textsOf(ids), ", ") }

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
