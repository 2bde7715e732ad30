package orchestrator_test

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

// Two processes that build the same at once make each image once: who waits
// takes what the other has published.
func TestProcessesMakeEachImageOnce(t *testing.T) {
	s := newSite(t, shop, installing)
	claims := cache.Claims{Dir: filepath.Join(s.cache, "claims")}
	var mu sync.Mutex
	built := map[graph.ID]int{}
	s.builder.hook = func(_ context.Context, step orchestrator.Step) error {
		mu.Lock()
		defer mu.Unlock()
		built[step.ID]++
		return nil
	}
	plans := []*orchestrator.Plan{s.mustPlan(), s.mustPlan(), s.mustPlan()}
	summaries := make([]orchestrator.Summary, len(plans))
	var wait sync.WaitGroup
	for i, plan := range plans {
		o := orchestrator.Orchestrator{Index: s.index(), Builder: s.builder, Registry: s.registry, Claims: claims}
		wait.Go(func() { summaries[i] = o.Build(t.Context(), plan) })
	}
	wait.Wait()
	for id, times := range built {
		if times != 1 {
			t.Errorf("%s was built %d times", id, times)
		}
	}
	for i, summary := range summaries {
		if !summary.OK || summary.References[edge].Digest != summaries[0].References[edge].Digest {
			t.Errorf("process %d: %+v", i, summary)
		}
	}
}

// What was published between planning and building is taken, not built.
func TestWhatWasPublishedMeanwhileIsTaken(t *testing.T) {
	s := newSite(t, shop)
	plan := s.mustPlan()
	claim := func(o *orchestrator.Orchestrator) { o.Claims = cache.Claims{Dir: filepath.Join(s.cache, "claims")} }
	late := orchestrator.Orchestrator{Index: s.index(), Builder: s.builder, Registry: s.registry, IndexOnly: true}
	claim(&late)
	if first := s.build(claim); first.Built != 3 {
		t.Fatalf("first: %+v", first)
	}
	s.builder.reset()
	if summary := late.Build(t.Context(), plan); !summary.OK || summary.Cached != 3 || len(s.builder.built) != 0 {
		t.Errorf("%+v, built %q", summary, s.builder.built)
	}
}

// What others have published is asked for where something is missing, once; and
// they are told where something is new.
func TestMachinesAreAskedAndToldAsLittleAsCanBe(t *testing.T) {
	s := newSite(t, shop, installing)
	asked, told := 0, 0
	tell := func(o *orchestrator.Orchestrator) { o.Share = func(context.Context) { told++ } }
	ask := func(p *orchestrator.Planner) { p.Shared = func(context.Context) { asked++ } }
	plan := func() *orchestrator.Plan {
		t.Helper()
		p, err := s.plan(ask)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if plan(); asked != 1 {
		t.Errorf("with nothing known: asked %d times", asked)
	}
	if s.build(tell); told != 1 {
		t.Errorf("after a build: told %d times", told)
	}
	if plan(); asked != 1 {
		t.Errorf("with all known: asked %d times", asked-1)
	}
	if s.build(tell); told != 1 {
		t.Errorf("after nothing was built: told %d times", told-1)
	}
	if _, err := s.plan(func(p *orchestrator.Planner) { ask(p); p.Rebuild = true }); err != nil || asked != 1 {
		t.Errorf("where all is built anyway: asked %d times, %v", asked-1, err)
	}
}

// A plan that was made of what others have told is that of who has it all.
func TestPlanWithWhatOthersTell(t *testing.T) {
	s := newSite(t, shop, installing)
	s.build(nil)
	want := s.mustPlan()
	theirs := s.index()
	s.cache = t.TempDir()
	index := s.index()
	got, err := s.plan(func(p *orchestrator.Planner) {
		p.Index = index
		p.Shared = func(context.Context) {
			const prefix = "registry.test/shop/"
			if err := index.Merge("registry.test", prefix, theirs.Rows("registry.test", prefix), want.Steps[0].VerifiedAt); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range got.Steps {
		if other := want.Steps[i]; step.Cached != other.Cached || step.Reference != other.Reference || step.Reason != other.Reason {
			t.Errorf("%s: cached %t as %s because %q, want %t, %s, %q", step.ID, step.Cached, step.Reference, step.Reason, other.Cached, other.Reference, other.Reason)
		}
	}
	if got.Changes() || !slices.ContainsFunc(got.Steps, func(s orchestrator.Step) bool { return s.ID.Kind() == orchestrator.KindDependencies }) {
		t.Errorf("changes: %t", got.Changes())
	}
}
