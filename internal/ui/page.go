package ui

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"strings"

	"toa.io/toa/graph"
)

//go:embed page.html
var pageText string

// page is one HTML file that needs nothing else and may load nothing else: its
// script lays the graph out, so that a search can lay out what it leaves. It is
// filled by hand, for html/template costs a start-up of 2 ms in every command.
func page(p picture) (string, error) {
	safe := p.escaped()
	data, err := json.Marshal(safe) // writes <, > and & as \u003c and so on
	if err != nil {
		return "", fmt.Errorf("write page: %w", err)
	}
	return strings.NewReplacer(
		"{{.Context}}", html.EscapeString(safe.Context),
		"{{.Registry}}", html.EscapeString(safe.Registry),
		"{{.}}", string(data),
	).Replace(pageText), nil
}

// escaped is the picture with all text safe to show: escaping keeps it from
// being markup, but not from reordering what stands beside it.
func (p picture) escaped() picture {
	safe := p
	safe.Context, safe.Registry = Escape(p.Context), Escape(p.Registry)
	safe.Nodes = make([]node, len(p.Nodes))
	for i, n := range p.Nodes {
		n.ID, n.Kind = graph.ID(Escape(string(n.ID))), Escape(n.Kind)
		n.Name, n.Reason, n.Reference = Escape(n.Name), Escape(n.Reason), Escape(n.Reference)
		safe.Nodes[i] = n
	}
	return safe
}
