package cli

import (
	"github.com/spf13/cobra"

	"toa.io/toa/internal/sdk"
)

// fullMark is the annotation of commands that are for the full binary.
const fullMark = "full"

// full marks a command that does nothing without a cluster, an engine or a
// registry's own code: the slim binary hands it on before it reads anything. Where
// flags or the workspace decide that, code asks sdk.Needed as soon as it knows.
func full(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{fullMark: ""}
	return cmd
}

// begin comes before every command.
func (g *globals) begin(cmd *cobra.Command) error {
	if _, marked := cmd.Annotations[fullMark]; marked {
		if err := sdk.Needed(); err != nil {
			return err
		}
	}
	return g.stage(cmd)
}
