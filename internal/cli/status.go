package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"toa.io/toa/internal/sdk"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
)

func statusCommand(g *globals) *cobra.Command {
	f := &exportFlags{}
	var where clusterFlags
	cmd := &cobra.Command{
		Use:   "status [environment]",
		Short: "Show how the release stands in the cluster: revisions, workloads, images",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return g.status(cmd.Context(), environment(g, args), where, f)
		},
	}
	addClusterFlags(cmd.Flags(), &where.kubeContext, &where.namespace)
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text or json")
	return cmd
}

func (g *globals) status(ctx context.Context, environment string, where clusterFlags, f *exportFlags) error {
	c, err := g.openCluster(environment, where)
	if err != nil {
		return err
	}
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return writeJSON(g.io.Out, status)
	}
	_, err = io.WriteString(g.io.Out, statusText(status))
	return err
}

// statusText is a status for people.
func statusText(s *sdk.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s at %s\n", ui.Escape(s.Name), ui.Escape(s.Namespace), ui.Escape(s.Server))
	if s.Holder != "" {
		fmt.Fprintf(&b, "being worked on by %s\n", ui.Escape(s.Holder))
	}
	if len(s.Revisions) == 0 {
		b.WriteString("nothing was released yet\n")
		return b.String()
	}
	section(&b, "REVISION\tSTATUS\tUPDATED\tCHART\tDESCRIPTION", s.Revisions, func(r sdk.Revision) []string {
		return []string{fmt.Sprint(r.Revision), r.Status, r.Updated.UTC().Format("2006-01-02 15:04:05 UTC"), r.Chart, r.Description}
	})
	section(&b, "WORKLOAD\tREADY\tREASON", s.Workloads, func(w orchestrator.Workload) []string {
		return []string{w.Kind + " " + w.Name, fmt.Sprintf("%d/%d", w.Ready, w.Desired), w.Reason}
	})
	section(&b, "IMAGE", s.Images, func(image string) []string { return []string{image} })
	return b.String()
}

// section is a table with a blank line above; nothing where it has no rows.
func section[T any](b *strings.Builder, title string, rows []T, cells func(T) []string) {
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n")
	var aligned strings.Builder
	table := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, title)
	for _, row := range rows {
		texts := cells(row)
		for i := range texts {
			texts[i] = ui.Escape(texts[i])
		}
		fmt.Fprintln(table, strings.Join(texts, "\t"))
	}
	_ = table.Flush() // a builder takes everything
	for line := range strings.Lines(aligned.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}
