package ui

import "strings"

// tree is indented text: what runs at the left, what it is made of below it.
func tree(p picture) string {
	var b strings.Builder
	b.WriteString(Escape(p.Context))
	if p.Registry != "" {
		b.WriteString("  " + Escape(p.Registry))
	}
	b.WriteString("\n")
	t := &treeWriter{out: &b, picture: p, needs: p.needs(), shown: make([]bool, len(p.Nodes))}
	t.children(p.roots(), "")
	return b.String()
}

type treeWriter struct {
	out     *strings.Builder
	picture picture
	needs   [][]int
	shown   []bool
}

func (t *treeWriter) children(nodes []int, indent string) {
	for i, at := range nodes {
		branch, below := "├─ ", "│  "
		if i == len(nodes)-1 {
			branch, below = "└─ ", "   "
		}
		repeated := t.shown[at] && len(t.needs[at]) > 0
		t.out.WriteString(indent + branch + t.describe(at))
		if repeated {
			t.out.WriteString("  (see above)")
		}
		t.out.WriteString("\n")
		if !repeated {
			t.shown[at] = true
			t.children(t.needs[at], indent+below)
		}
	}
}

func (t *treeWriter) describe(at int) string {
	n := t.picture.Nodes[at]
	text := Escape(n.Kind + "/" + n.Name)
	switch {
	case n.Action != "":
		text += "  " + n.Action
		if n.Reason != "" {
			text += ": " + Escape(n.Reason)
		}
	case n.Files > 0:
		text += "  " + count(n.Files, "file") + ", " + size(n.Bytes)
	}
	return text
}
