package ui

import (
	"fmt"
	"io"
	"strings"
)

// Changes are what a release would do.
type Changes struct {
	// Against says what it was compared with: "revision 3 of shop in prod".
	Against string         `json:"against"`
	Objects []ObjectChange `json:"objects"`
}

// ObjectChange is what a release would do to one object. Nothing in it is
// secret.
type ObjectChange struct {
	// Action is "added", "changed" or "removed".
	Action string `json:"action"`
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	// Text is a unified diff.
	Text string `json:"diff,omitempty"`
}

var actionMarks = map[string]string{"added": "+", "changed": "~", "removed": "-"}

// WriteChanges prints what a release would change, object by object.
func WriteChanges(w io.Writer, c Changes) error {
	var b strings.Builder
	for _, o := range c.Objects {
		fmt.Fprintf(&b, "\n%s %s %s\n", actionMarks[o.Action], Escape(o.Kind), Escape(o.Name))
		for _, text := range lines(o.Text) {
			if text != "" {
				b.WriteString("    " + text + "\n")
			}
		}
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "release: %s, against %s\n", c.counts(), Escape(c.Against))
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write changes: %w", err)
	}
	return nil
}

// counts says how many objects are new, change or go.
func (c Changes) counts() string {
	by := map[string]int{}
	for _, o := range c.Objects {
		by[o.Action]++
	}
	var parts []string
	for _, action := range []string{"added", "changed", "removed"} {
		if n := by[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", count(n, "object"), action))
		}
	}
	if len(parts) == 0 {
		return "no object changes"
	}
	return strings.Join(parts, ", ")
}
