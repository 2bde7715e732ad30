package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"toa.io/toa/chart"
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
	s, err := g.open(environment)
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
	if err := replaceBytes(s.beside(as), 0o644, data); err != nil {
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

// encodeMap writes the map that the chart carries with one component a line.
func encodeMap(components []*workspace.Component, versions map[string]string) ([]byte, error) {
	pretty, err := chart.Map(components, versions)
	if err != nil {
		return nil, err
	}
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(pretty, &entries); err != nil {
		return nil, err
	}
	lines := make([]string, len(components))
	for i, c := range components {
		var line bytes.Buffer
		if err := json.Compact(&line, entries[c.ID]); err != nil {
			return nil, err
		}
		lines[i] = fmt.Sprintf("%q:%s", c.ID, line.Bytes())
	}
	return []byte("{\n" + strings.Join(lines, ",\n") + "\n}\n"), nil
}
