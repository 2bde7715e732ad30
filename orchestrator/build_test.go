package orchestrator_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

func TestUnchangedWorkspaceAsksNothing(t *testing.T) {
	s := newSite(t, shop, installing)
	first := s.build(nil)
	if !first.OK || first.Built != 4 {
		t.Fatalf("first: %+v", first)
	}
	second := s.build(nil)
	if !second.OK || second.Cached != 4 || second.RegistryRequests != 0 || len(s.builder.built) != 0 {
		t.Errorf("second: %+v, built %q", second, s.builder.built)
	}
	if first.References[edge] != second.References[edge] || first.References[edge].Digest == "" {
		t.Errorf("references: %v, %v", first.References[edge], second.References[edge])
	}
}

func TestOnlyWhatChangedIsBuilt(t *testing.T) {
	s := newSite(t, shop, installing)
	s.build(nil)
	s.write("components/store.goods/operations/get.js", "got")
	s.build(nil)
	if got, want := s.builder.names(), []graph.ID{back, edge}; !slices.Equal(got, want) {
		t.Errorf("built %q, want %q", got, want)
	}
	s.write("components/store.goods/operations/get.js", "get")
	if summary := s.build(nil); summary.Cached != 4 || summary.RegistryRequests != 0 {
		t.Errorf("after the edit was reverted: %+v", summary)
	}
}

func TestLostIndexCostsOneRequestAnImage(t *testing.T) {
	s := newSite(t, shop, installing)
	s.build(nil)
	s.cache = t.TempDir()
	summary := s.build(nil)
	if !summary.OK || len(s.builder.built) != 0 || summary.RegistryRequests > 4 {
		t.Errorf("%+v, built %q", summary, s.builder.built)
	}
	if again := s.build(nil); again.RegistryRequests != 0 {
		t.Errorf("what the registry said was not remembered: %+v", again)
	}
}

func TestGoneImageIsFoundAndBuilt(t *testing.T) {
	s := newSite(t, shop)
	s.build(nil)
	s.registry.delete("composition-edge")
	if summary := s.build(nil); summary.Cached != 3 {
		t.Errorf("without asking: %+v", summary)
	}
	always, err := orchestrator.ParseTrust("always")
	if err != nil {
		t.Fatal(err)
	}
	summary := s.build(func(o *orchestrator.Orchestrator) { o.Trust = always })
	if !summary.OK || !slices.Equal(s.builder.names(), []graph.ID{edge}) {
		t.Errorf("always: %+v, built %q", summary, s.builder.built)
	}
}

func TestRegistryThatDoesNotAnswerIsNoNo(t *testing.T) {
	s := newSite(t, shop)
	s.registry.down = errBroken
	summary := s.build(nil)
	if summary.OK || !errors.Is(summary.Err, errBroken) || len(s.builder.built) != 0 {
		t.Errorf("%+v, built %q", summary, s.builder.built)
	}
}

func TestFailureReleasesNothingAndKeepsWhatSucceeded(t *testing.T) {
	for name, keepGoing := range map[string]bool{"stopping": false, "keeping going": true} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, shop, installing)
			s.builder.fail = map[graph.ID]error{dependencies: errBroken}
			r := &releaser{}
			deliver := func(o *orchestrator.Orchestrator) {
				o.KeepGoing, o.Jobs = keepGoing, 1
				o.Release = &orchestrator.Delivery{Releaser: r, Chart: emptyChart}
			}
			summary := s.build(deliver)
			var failure *orchestrator.BuildError
			if summary.OK || !errors.As(summary.Err, &failure) || failure.ID != dependencies || summary.Failed != 1 || r.made != 0 {
				t.Fatalf("%+v, released %d times", summary, r.made)
			}
			if keepGoing && (summary.Built != 2 || summary.Skipped != 1) {
				t.Errorf("kept going: %+v", summary)
			}
			s.builder.fail = nil
			built := summary.Built
			again := s.build(deliver)
			if !again.OK || again.Cached != built || r.made != 1 {
				t.Errorf("after the mend: %+v, released %d times", again, r.made)
			}
		})
	}
}

func TestReleaseIsMadeWhenSomethingMoves(t *testing.T) {
	s := newSite(t, shop)
	r := &releaser{}
	deliver := func(o *orchestrator.Orchestrator) {
		o.Release = &orchestrator.Delivery{Releaser: r, Chart: emptyChart, Inputs: cache.Digest([]byte("context"))}
	}
	statuses := []string{}
	for _, change := range []func(){
		func() {},
		func() {},
		func() { s.write("components/mail/operations/send.js", "sent") },
		func() {},
	} {
		change()
		summary := s.build(deliver)
		if !summary.OK {
			t.Fatal(summary.Err)
		}
		statuses = append(statuses, summary.Release.Status)
	}
	if want := []string{"packaged", "unchanged", "packaged", "unchanged"}; !slices.Equal(statuses, want) {
		t.Errorf("got %q, want %q", statuses, want)
	}
}

// What is about to be released is checked first: an image that is gone is
// built in the same run.
func TestReleaseChecksWhatItReliesOn(t *testing.T) {
	s := newSite(t, shop)
	r := &releaser{}
	deliver := func(o *orchestrator.Orchestrator) {
		o.Release = &orchestrator.Delivery{Releaser: r, Chart: emptyChart}
	}
	s.build(deliver)
	s.registry.delete("composition-edge")
	s.write("components/mail/operations/send.js", "sent")
	if summary := s.build(deliver); !summary.OK {
		t.Fatal(summary.Err)
	}
	if got, want := s.builder.names(), []graph.ID{mail, edge}; !slices.Equal(got, want) {
		t.Errorf("built %q, want %q", got, want)
	}
}

func TestTakenTagIsKept(t *testing.T) {
	s := newSite(t, shop)
	step, _ := s.mustPlan().Step(mail)
	other := "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	s.builder.hook = func(_ context.Context, building orchestrator.Step) error {
		if building.ID == mail { // somebody publishes while we build
			s.registry.mu.Lock()
			defer s.registry.mu.Unlock()
			s.registry.tags[step.Reference.Repository+":"+step.Reference.Tag] = other
		}
		return nil
	}
	var notices []string
	var mu sync.Mutex
	summary := s.build(func(o *orchestrator.Orchestrator) {
		o.Observe = func(e orchestrator.Event) {
			if n, ok := e.(orchestrator.NoticeEvent); ok {
				mu.Lock()
				defer mu.Unlock()
				notices = append(notices, n.Text)
			}
		}
	})
	if !summary.OK || summary.References[mail].Digest != other || len(notices) != 1 {
		t.Errorf("%v, notices %q", summary.References[mail], notices)
	}
}

func TestStoppedRunRecordsWhatIsPublishedOnly(t *testing.T) {
	s := newSite(t, shop)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped")
	s.builder.hook = func(ctx context.Context, step orchestrator.Step) error {
		if step.ID == mail {
			cancel(stop)
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return nil
	}
	o := orchestrator.Orchestrator{Index: s.index(), Builder: s.builder, Registry: s.registry, Jobs: 1}
	summary := o.Build(ctx, s.mustPlan())
	if summary.OK || !errors.Is(summary.Err, stop) || summary.Failed != 0 || summary.Skipped == 0 {
		t.Errorf("%+v", summary)
	}
	s.builder.hook = nil
	if again := s.build(nil); !again.OK || again.Cached != summary.Built {
		t.Errorf("again: %+v", again)
	}
}

func emptyChart(map[graph.ID]orchestrator.Reference, map[string]string) (*chart.Chart, error) {
	return &chart.Chart{Name: "shop", Version: "0.1.0"}, nil
}
