package cli

import (
	"cmp"

	"github.com/spf13/cobra"

	"toa.io/toa/chart"
	"toa.io/toa/internal/sdk"
)

func exportRole(g *globals) *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:   "role [environment]",
		Short: "Print the Kubernetes Role that is enough to release",
		Long: `Role prints a Role, for kubectl apply, with just the rights that a release needs
in its namespace. It asks no cluster.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := g.open(environment(g, args))
			if err != nil {
				return err
			}
			defer s.close()
			where := cmp.Or(namespace, s.workspace.Context.Release.Namespace, "default")
			_, err = g.io.Out.Write(sdk.Role(where, chart.Name(s.workspace.Context.Name)))
			return err
		},
	}
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "namespace of the release (default: release.namespace, or default)")
	return cmd
}
