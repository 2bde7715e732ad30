package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"toa.io/toa/workspace"
)

func schemaCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [context|manifest]",
		Short: "Print JSON Schemas of the workspace's files, for editors",
		Long: `Schema prints the JSON Schema of context.toa.yaml or manifest.toa.yaml, or of
both as one object. Editors complete and check these files with them: the line

  # yaml-language-server: $schema=context.schema.json

at the top of a file names its schema.`,
		Example: `  toa schema context > context.schema.json
  toa schema manifest > manifest.schema.json`,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"context", "manifest"},
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := schemas(args)
			if err == nil {
				_, err = g.io.Out.Write(data)
			}
			return err
		},
	}
}

func schemas(args []string) ([]byte, error) {
	context, manifest := workspace.Schemas()
	if len(args) == 0 {
		var both bytes.Buffer
		err := json.Indent(&both, fmt.Appendf(nil, `{"context":%s,"manifest":%s}`, context, manifest), "", "  ")
		both.WriteByte('\n')
		return both.Bytes(), err
	}
	if args[0] == "manifest" {
		return manifest, nil
	}
	return context, nil
}
