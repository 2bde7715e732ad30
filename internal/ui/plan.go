package ui

import (
	"fmt"
	"io"
	"strings"

	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

const (
	actionBuild  = "build"
	actionCached = "cached"
)

func action(step orchestrator.Step) string {
	if step.Cached {
		return actionCached
	}
	return actionBuild
}

// WritePlan prints a plan as a table: cached images first, so that what would
// be built stands beside the totals at the end.
func WritePlan(w io.Writer, plan *orchestrator.Plan) error {
	widest := width("IMAGE")
	for _, step := range plan.Steps {
		widest = max(widest, width(Escape(string(step.ID))))
	}
	var b strings.Builder
	if len(plan.Steps) > 0 {
		fmt.Fprintf(&b, "ACTION  %s  REASON\n", pad("IMAGE", widest))
	}
	for _, want := range []string{actionCached, actionBuild} {
		for _, step := range plan.Steps {
			if action(step) == want {
				row := fmt.Sprintf("%-6s  %s  %s", want, pad(Escape(string(step.ID)), widest), Escape(why(step)))
				b.WriteString(strings.TrimRight(row, " ") + "\n")
			}
		}
	}
	fmt.Fprintf(&b, "plan: %s\n", planned(plan))
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return nil
}

// why is the reason of a step, and the builder where that is worth telling:
// most images are built natively.
func why(step orchestrator.Step) string {
	if step.Builder == "" || strings.HasPrefix(step.Builder, "native") {
		return step.Reason
	}
	return step.Reason + " · " + step.Builder
}

// WritePlanJSON prints a plan as one JSON object, in plan order, with the changes
// of its release if they are known.
func WritePlanJSON(w io.Writer, plan *orchestrator.Plan, changes *Changes) error {
	described := describe(plan)
	described.Release = changes
	data, err := encode(described, "  ")
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return nil
}

type (
	planJSON struct {
		Context  string     `json:"context"`
		Registry string     `json:"registry,omitempty"`
		Images   []stepJSON `json:"images"`
		Total    int        `json:"total"`
		Cached   int        `json:"cached"`
		Build    int        `json:"build"`
		Release  *Changes   `json:"release,omitempty"`
	}
	stepJSON struct {
		ID        graph.ID `json:"id"`
		Kind      string   `json:"kind"`
		Action    string   `json:"action"`
		Reason    string   `json:"reason,omitempty"`
		Builder   string   `json:"builder,omitempty"`
		Key       string   `json:"key"`
		Tag       string   `json:"tag"`
		Reference string   `json:"reference"`
	}
)

func describe(plan *orchestrator.Plan) planJSON {
	p := planJSON{
		Context:  plan.Context,
		Registry: plan.Registry,
		Images:   make([]stepJSON, 0, len(plan.Steps)),
		Total:    len(plan.Steps),
	}
	for _, step := range plan.Steps {
		if step.Cached {
			p.Cached++
		} else {
			p.Build++
		}
		p.Images = append(p.Images, stepJSON{
			ID:        step.ID,
			Kind:      step.ID.Kind(),
			Action:    action(step),
			Reason:    step.Reason,
			Builder:   step.Builder,
			Key:       step.Key.String(),
			Tag:       step.Reference.Tag,
			Reference: referenceText(step.Reference),
		})
	}
	return p
}
