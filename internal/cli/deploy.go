package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"toa.io/toa/chart"
	"toa.io/toa/internal/sdk"
	"toa.io/toa/orchestrator"
)

func deployCommand(g *globals) *cobra.Command {
	f := &buildFlags{release: releaseApply}
	var dry bool
	cmd := &cobra.Command{
		Use:   "deploy [environment]",
		Short: "Build what changed, publish it, and apply one Helm release to the cluster",
		Long: `Deploy is ` + "`toa graph build --release apply`" + ` by the name that it had before.

With --dry it prints the manifests that would be applied, and touches no cluster,
no registry and no builder. Images stand in them by digest; of those that are not
published yet the digest is all zeros, which nothing can run by mistake.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dry {
				return g.printManifests(cmd, environment(g, args), f)
			}
			return g.build(cmd, environment(g, args), f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&dry, "dry", "d", false, "print the manifests and touch nothing")
	flags.StringVar(&f.registry, "registry", "", "publish under this base instead of registry.base")
	f.releaseFlags.add(flags)
	f.addReferenceFlags(flags)
	return cmd
}

// printManifests is `deploy --dry`.
func (g *globals) printManifests(command *cobra.Command, environment string, f *buildFlags) error {
	s, plan, err := g.planned(command, environment, f.registry, false, f.mono)
	if err != nil {
		return err
	}
	defer s.close()
	made, err := s.plannedChart(command.Context(), plan)
	if err != nil {
		return err
	}
	rendered, err := sdk.Render(made, f.over(s.workspace.Context.Release).Namespace)
	if err != nil {
		return err
	}
	_, err = io.WriteString(g.io.Out, rendered.Manifest)
	return err
}

// plannedChart is the chart as it will be once everything is published. What is
// not yet stands with a placeholder for a digest, and a warning says so.
func (s *session) plannedChart(ctx context.Context, plan *orchestrator.Plan) (*chart.Chart, error) {
	deployment, err := s.declare(ctx)
	if err != nil {
		return nil, err
	}
	references, missing := references(plan, deployment)
	for _, id := range missing {
		reference := references[id]
		reference.Digest = orchestrator.Placeholder
		references[id] = reference
	}
	if len(missing) > 0 {
		s.warn(count(len(missing), "image") + " not known to be published, a placeholder stands for the digest: " + listed(missing))
	}
	return s.chart(references, plan.Versions)
}
