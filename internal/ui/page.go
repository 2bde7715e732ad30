package ui

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"toa.io/toa/graph"
)

//go:embed page.html
var pageText string

// page is one HTML file that needs nothing else and may load nothing else: its
// script lays the graph out, so that a search can lay out what it leaves.
func page(p picture) (string, error) {
	parsed, err := template.New("page.html").Parse(pageText)
	if err != nil {
		return "", fmt.Errorf("parse page: %w", err)
	}
	var b strings.Builder
	if err := parsed.Execute(&b, p.escaped()); err != nil {
		return "", fmt.Errorf("write page: %w", err)
	}
	return b.String(), nil
}

// escaped is the picture with all text safe to show: html/template keeps it from
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
