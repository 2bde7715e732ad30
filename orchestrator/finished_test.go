package orchestrator_test

import (
	"slices"
	"strings"
	"testing"

	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

// A finished image is what it is: its digest alone moves its key.
func TestFinishedImage(t *testing.T) {
	s := newSite(t, shop)
	units := func(digit string) []orchestrator.Unit {
		return []orchestrator.Unit{
			{ID: "composition/back", Finished: "oci-layout://made@sha256:" + strings.Repeat(digit, 64)},
			{ID: "composition/edge"},
		}
	}
	before := s.unitPlan(units("1"))
	step, ok := before.Step("composition/back")
	if !ok || step.Recipe.Kind != orchestrator.KindFinished || len(step.Sources) > 0 || step.Reference.Repository != "registry.test/shop/composition-back" {
		t.Fatalf("%+v", step)
	}
	s.write("components/store.goods/operations/get.js", "other")
	if got := moved(keys(before), keys(s.unitPlan(units("1")))); !slices.Equal(got, []graph.ID{"composition/edge"}) {
		t.Errorf("an edit of a component of both moved %q, want the one that is built", got)
	}
	if got := moved(keys(s.unitPlan(units("1"))), keys(s.unitPlan(units("2")))); !slices.Equal(got, []graph.ID{"composition/back"}) {
		t.Errorf("another image moved %q, want that one", got)
	}
}

func TestFinishedImageHasNoBaseToPin(t *testing.T) {
	s := newSite(t, shop)
	plan := func(p *orchestrator.Planner) {
		p.Workspace.Compositions[0].Image = "base:1"
		p.Units = []orchestrator.Unit{{ID: "composition/edge", Finished: "oci-layout://made@sha256:" + strings.Repeat("1", 64)}}
		if pins := p.Pins(); len(pins) > 0 {
			t.Errorf("pins are %v", pins)
		}
	}
	if _, err := s.plan(plan); err != nil {
		t.Error(err)
	}
}
