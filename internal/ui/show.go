package ui

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

// Formats are the values of `toa graph show --format`.
var Formats = []string{"tree", "json", "dot", "mermaid", "html"}

// FormatError is an unknown format.
type FormatError struct{ Format string }

func (e *FormatError) Error() string { return fmt.Sprintf("unknown format %q", e.Format) }

// Hint lists the formats there are.
func (e *FormatError) Hint() string { return "use " + alternatives(Formats) }

// Mistake is true: it is found before anything is touched.
func (*FormatError) Mistake() bool { return true }

// Show prints the graph of a plan in one of Formats.
func Show(w io.Writer, plan *orchestrator.Plan, format string) error {
	write, known := map[string]func(picture) (string, error){
		"tree":    func(p picture) (string, error) { return tree(p), nil },
		"json":    pictureJSON,
		"dot":     func(p picture) (string, error) { return dot(p), nil },
		"mermaid": func(p picture) (string, error) { return mermaid(p), nil },
		"html":    page,
	}[format]
	if !known {
		return &FormatError{Format: format}
	}
	text, err := write(draw(plan))
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write graph: %w", err)
	}
	return nil
}

// picture is a graph as it is shown: nodes in graph order, and for each edge the
// positions of the one that needs and the one that is needed.
type picture struct {
	Context  string   `json:"context"`
	Registry string   `json:"registry,omitempty"`
	Nodes    []node   `json:"nodes"`
	Edges    [][2]int `json:"edges"`
}

// node is a component or an image. Only images have an action.
type node struct {
	ID        graph.ID `json:"id"`
	Kind      string   `json:"kind"`
	Name      string   `json:"name"`
	Action    string   `json:"action,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	Reference string   `json:"reference,omitempty"`
	Files     int      `json:"files,omitempty"`
	Bytes     int64    `json:"bytes,omitempty"`
}

func draw(plan *orchestrator.Plan) picture {
	p := picture{Context: plan.Context, Registry: plan.Registry, Nodes: []node{}, Edges: [][2]int{}}
	steps := map[graph.ID]orchestrator.Step{}
	components := map[string]string{} // by label
	for _, step := range plan.Steps {
		steps[step.ID] = step
		for _, source := range step.Sources {
			components[source.Label] = source.Component
		}
	}
	position := map[graph.ID]int{}
	for i, target := range plan.Graph.Targets() {
		position[target.ID] = i
		n := node{ID: target.ID, Kind: target.ID.Kind(), Name: target.ID.Name()}
		if step, isImage := steps[target.ID]; isImage {
			n.Action, n.Reason, n.Reference = action(step), step.Reason, referenceText(step.Reference)
		} else {
			n.Name = cmp.Or(components[n.Name], n.Name)
			n.Files, n.Bytes = weigh(plan, n.Name)
		}
		p.Nodes = append(p.Nodes, n)
		for _, need := range target.Dependencies {
			p.Edges = append(p.Edges, [2]int{i, position[need]})
		}
	}
	return p
}

func weigh(plan *orchestrator.Plan, component string) (files int, bytes int64) {
	tree := plan.Trees[component]
	if tree == nil {
		return 0, 0
	}
	for _, file := range tree.Files() {
		bytes += file.Size
	}
	return len(tree.Files()), bytes
}

// needs lists for each node the positions of what it needs.
func (p picture) needs() [][]int {
	needs := make([][]int, len(p.Nodes))
	for _, edge := range p.Edges {
		needs[edge[0]] = append(needs[edge[0]], edge[1])
	}
	return needs
}

// roots lists the nodes that nobody needs.
func (p picture) roots() []int {
	needed := make([]bool, len(p.Nodes))
	for _, edge := range p.Edges {
		needed[edge[1]] = true
	}
	var roots []int
	for i := range p.Nodes {
		if !needed[i] {
			roots = append(roots, i)
		}
	}
	slices.SortStableFunc(roots, func(a, b int) int { return cmp.Compare(p.Nodes[a].ID, p.Nodes[b].ID) })
	return roots
}

func pictureJSON(p picture) (string, error) {
	data, err := encode(p, "  ")
	return string(data), err
}
