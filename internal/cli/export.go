package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"toa.io/toa/extensions"
	"toa.io/toa/graph"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
)

func exportCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "export", Short: "Print or write what a deployment is made of"}
	cmd.AddCommand(exportTags(g), exportSecrets(g), exportManifest(g), exportDeployment(g), exportChart(g), full(exportRole(g)), exportImages(g))
	return cmd
}

// exportFlags are what listings have in common.
type exportFlags struct {
	mono   bool
	output string
}

func (f *exportFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.mono, "mono", false, monoUsage)
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text or json")
}

// check refuses unknown formats before anything is read.
func (f *exportFlags) check(cmd *cobra.Command) error {
	return oneOf(cmd, "output", f.output, "text", "json")
}

// writeJSON writes a value for scripts.
func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func exportTags(g *globals) *cobra.Command {
	f := &exportFlags{}
	var registry string
	cmd := &cobra.Command{
		Use:   "tags [environment]",
		Short: "Print references of the images that are built, one a line",
		Long: `Tags prints a reference for each image that is built: those of compositions in
order, then those of services. It plans offline, so images need not be there.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			s, plan, err := g.planned(cmd, environment(g, args), registry, false, f.mono)
			if err != nil {
				return err
			}
			defer s.close()
			return f.writeTags(g.io.Out, s.tags(plan))
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&registry, "registry", "", "print references under this base instead of registry.base")
	return cmd
}

// tag is an image as scripts see it.
type tag struct {
	ID        graph.ID `json:"id"`
	Reference string   `json:"reference"`
}

// tags are compositions in the order of the workspace, then what else is built,
// by ID. References carry no digest, so that they do not tell what is published.
func (s *session) tags(plan *orchestrator.Plan) []tag {
	var compositions, others []tag
	for _, c := range s.workspace.Compositions {
		if step, ok := plan.Step(graph.NewID(orchestrator.KindComposition, c.Slug)); ok {
			compositions = append(compositions, tagOf(step))
		}
	}
	for _, step := range plan.Steps {
		if kind := step.ID.Kind(); kind != orchestrator.KindComposition && kind != orchestrator.KindDependencies {
			others = append(others, tagOf(step))
		}
	}
	slices.SortFunc(others, func(a, b tag) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return append(compositions, others...)
}

func tagOf(s orchestrator.Step) tag {
	reference := s.Reference
	reference.Digest = ""
	return tag{s.ID, reference.String()}
}

func (f *exportFlags) writeTags(out io.Writer, tags []tag) error {
	if f.output == "json" {
		return writeJSON(out, tags)
	}
	for _, t := range tags {
		if _, err := fmt.Fprintln(out, ui.Escape(t.Reference)); err != nil {
			return err
		}
	}
	return nil
}

func exportSecrets(g *globals) *cobra.Command {
	f := &exportFlags{}
	cmd := &cobra.Command{
		Use:   "secrets [environment]",
		Short: "Print names and keys of the secrets that a deployment needs",
		Long: `Secrets prints the Kubernetes secrets that variables refer to, by name, each
with its keys. It knows no values.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return g.listSecrets(cmd.Context(), environment(g, args), f)
		},
	}
	f.add(cmd)
	return cmd
}

func (g *globals) listSecrets(ctx context.Context, environment string, f *exportFlags) error {
	s, deployment, err := g.declared(ctx, environment, f.mono)
	if err != nil {
		return err
	}
	defer s.close()
	return f.writeSecrets(g.io.Out, bySecret(deployment.Secrets))
}

// secretKey is a key of a secret as scripts see it.
type secretKey struct {
	Key      string `json:"key"`
	Optional bool   `json:"optional,omitempty"`
}

// bySecret are the keys of each secret, sorted.
func bySecret(all []extensions.Secret) map[string][]secretKey {
	keys := map[string][]secretKey{}
	for _, s := range all {
		keys[s.Name] = append(keys[s.Name], secretKey{s.Key, s.Optional})
	}
	for _, of := range keys {
		slices.SortFunc(of, func(a, b secretKey) int { return strings.Compare(a.Key, b.Key) })
	}
	return keys
}

func (f *exportFlags) writeSecrets(out io.Writer, secrets map[string][]secretKey) error {
	if f.output == "json" {
		return writeJSON(out, secrets)
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		text.WriteString(ui.Escape(name) + ":\n")
		for _, k := range secrets[name] {
			text.WriteString("  " + ui.Escape(k.Key))
			if k.Optional {
				text.WriteString(" (optional)")
			}
			text.WriteString("\n")
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}
