package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"toa.io/toa/workspace"
)

func mapCommand(g *globals) *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use:   "map [environment]",
		Short: "Write the component map to a file",
		Long: `Map writes what components declare, with their versions, into a file beside the
context, one component a line: what processes on a cluster are given too.

The environment is "local" if none is named.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.writeMap(cmd.Context(), developed(args), as)
		},
	}
	cmd.Flags().StringVar(&as, "as", ".map.json", "the file to write, relative to the context")
	return cmd
}

func (g *globals) writeMap(ctx context.Context, environment, as string) error {
	s, err := g.open(environment, "")
	if err != nil {
		return err
	}
	defer s.close()
	s.notices()
	versions, err := s.versions(ctx)
	if err != nil {
		return err
	}
	data, err := encodeMap(s.workspace.Components, versions)
	if err != nil {
		return err
	}
	if err := replace(s.beside(as), data); err != nil {
		return fmt.Errorf("write %s: %w", as, err)
	}
	return nil
}

// versions are those of components alone: without images to plan, no base
// image has to be pinned.
func (s *session) versions(ctx context.Context) (map[string]string, error) {
	components := *s.workspace
	components.Compositions = nil
	planner := s.planner()
	planner.Workspace = &components
	plan, err := planner.Plan(ctx)
	if err != nil {
		return nil, err
	}
	return plan.Versions, nil
}

// encodeMap writes components by ID, one a line.
func encodeMap(components []*workspace.Component, versions map[string]string) ([]byte, error) {
	lines := make([][]byte, len(components))
	for i, c := range components {
		declared := map[string]json.RawMessage{}
		if len(c.Contract) > 0 {
			if err := json.Unmarshal(c.Contract, &declared); err != nil {
				return nil, fmt.Errorf("read what %s declares: %w", c.ID, err)
			}
		}
		var err error
		if declared["version"], err = json.Marshal(versions[c.ID]); err != nil {
			return nil, err
		}
		line, err := json.Marshal(declared)
		if err != nil {
			return nil, err
		}
		lines[i] = fmt.Appendf(nil, "%q:%s", c.ID, line)
	}
	return fmt.Appendf(nil, "{\n%s\n}\n", bytes.Join(lines, []byte(",\n"))), nil
}
