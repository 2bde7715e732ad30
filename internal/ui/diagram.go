package ui

import (
	"fmt"
	"strings"
)

// dot is the graph for Graphviz.
func dot(p picture) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", quoteDot(p.Context))
	b.WriteString("  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", fillcolor=\"#f4f4f5\", color=\"#a1a1aa\"];\n  edge [color=\"#a1a1aa\"];\n")
	for i, n := range p.Nodes {
		fmt.Fprintf(&b, "  n%d [label=%s, tooltip=%s%s];\n", i, quoteDot(n.Kind+"/"+n.Name), quoteDot(n.Reason), dotStyle(n))
	}
	for _, edge := range p.Edges {
		fmt.Fprintf(&b, "  n%d -> n%d;\n", edge[0], edge[1])
	}
	b.WriteString("}\n")
	return b.String()
}

func dotStyle(n node) string {
	switch n.Action {
	case actionBuild:
		return `, fillcolor="#fef3c7", color="#d97706"`
	case actionCached:
		return `, fillcolor="#dcfce7", color="#16a34a"`
	}
	return ""
}

// quoteDot makes a quoted ID: a backslash would begin one of Graphviz' escapes,
// an ampersand one of HTML's.
func quoteDot(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `&`, `&amp;`).Replace(Escape(text)) + `"`
}

// mermaid is the graph for Markdown pages that draw it.
func mermaid(p picture) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for i, n := range p.Nodes {
		class := "component"
		if n.Action != "" {
			class = n.Action
		}
		fmt.Fprintf(&b, "  n%d[\"%s\"]:::%s\n", i, quoteMermaid(n.Kind+"/"+n.Name), class)
	}
	for _, edge := range p.Edges {
		fmt.Fprintf(&b, "  n%d --> n%d\n", edge[0], edge[1])
	}
	b.WriteString("  classDef component fill:#f4f4f5,stroke:#a1a1aa,color:#18181b\n")
	b.WriteString("  classDef build fill:#fef3c7,stroke:#d97706,color:#18181b\n")
	b.WriteString("  classDef cached fill:#dcfce7,stroke:#16a34a,color:#18181b\n")
	return b.String()
}

// quoteMermaid writes all but letters, digits and a few marks as numeric
// entities: labels may otherwise carry markup and ends of strings.
func quoteMermaid(text string) string {
	var b strings.Builder
	for _, r := range Escape(text) {
		switch {
		case r < 0x80 && !strings.ContainsRune(" -_./:", r) && !isWord(r):
			fmt.Fprintf(&b, "#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isWord(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
