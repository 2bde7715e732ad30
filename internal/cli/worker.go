package cli

import (
	"github.com/spf13/cobra"

	"toa.io/toa/internal/sdk"
	"toa.io/toa/release"
)

// releaseWorkerCommand is the child's side of a release: a process that can be
// stopped, as Helm's SDK cannot.
func releaseWorkerCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:    release.WorkerCommand,
		Short:  "Make the release that standard input orders",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return sdk.ServeRelease(cmd.Context(), g.io.In, g.io.Out)
		},
	}
}
