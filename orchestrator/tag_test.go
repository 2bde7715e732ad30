package orchestrator_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

// tagger keeps tags, and remembers those that it moved.
type tagger struct {
	mu    sync.Mutex
	tags  map[string]string
	moves int
	fail  error
}

func (g *tagger) Tag(_ context.Context, ref orchestrator.Reference, tag string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.moves++
	if g.fail != nil {
		return g.fail
	}
	g.tags[ref.Repository+":"+tag] = ref.Digest
	return nil
}

func (g *tagger) Tagged(ref orchestrator.Reference, tag string) bool {
	return g.tags[ref.Repository+":"+tag] == ref.Digest
}

// landing is a releaser whose releases land in a cluster.
type landing struct{ releaser }

func (l *landing) Current(ctx context.Context, inputs cache.Key) (orchestrator.Release, bool, error) {
	standing, current, err := l.releaser.Current(ctx, inputs)
	standing.Server = "https://cluster.test"
	return standing, current, err
}

func (l *landing) Release(ctx context.Context, inputs cache.Key, c *chart.Chart) (orchestrator.Release, error) {
	_, err := l.releaser.Release(ctx, inputs, c)
	return orchestrator.Release{Status: orchestrator.ReleaseApplied, Server: "https://cluster.test"}, err
}

func TestEnvironmentTagFollowsTheRelease(t *testing.T) {
	s := newSite(t, shop, installing)
	tags, r := &tagger{tags: map[string]string{}}, &landing{}
	deploy := func() orchestrator.Summary {
		tags.moves = 0
		return s.build(func(o *orchestrator.Orchestrator) {
			o.Release = &orchestrator.Delivery{Releaser: r, Chart: emptyChart, Tagger: tags, Tag: "prod"}
		})
	}
	tags.fail = errBroken
	if first := deploy(); first.OK || !errors.Is(first.Err, errBroken) || first.Release.Status != orchestrator.ReleaseApplied {
		t.Fatalf("a tag that does not move: %+v", first)
	}
	tags.fail = nil
	if again := deploy(); !again.OK || again.Release.Status != orchestrator.ReleaseUnchanged {
		t.Fatalf("again: %+v", again)
	}
	want := []string{
		"registry.test/shop/composition-back:prod",
		"registry.test/shop/composition-default-mail:prod",
		"registry.test/shop/composition-edge:prod",
	}
	if got := slices.Sorted(maps.Keys(tags.tags)); !slices.Equal(got, want) {
		t.Errorf("tags are %q, want %q", got, want)
	}
	if deploy(); tags.moves != 0 {
		t.Errorf("nothing changed, and %d tags were moved", tags.moves)
	}
	s.write("components/mail/operations/send.js", "sent")
	summary := deploy()
	if !summary.OK || tags.moves != 3 || tags.tags["registry.test/shop/composition-default-mail:prod"] != summary.References[mail].Digest {
		t.Errorf("after a release %d tags were moved to %v", tags.moves, tags.tags)
	}
}

func TestNothingIsTaggedWithoutARelease(t *testing.T) {
	for name, row := range map[string]struct {
		releaser orchestrator.Releaser
		tag      string
	}{"a package": {&releaser{}, "prod"}, "no environment": {&landing{}, ""}} {
		tags := &tagger{tags: map[string]string{}}
		summary := newSite(t, shop).build(func(o *orchestrator.Orchestrator) {
			o.Release = &orchestrator.Delivery{Releaser: row.releaser, Chart: emptyChart, Tagger: tags, Tag: row.tag}
		})
		if !summary.OK || tags.moves != 0 {
			t.Errorf("%s: %d tags were moved, %v", name, tags.moves, summary.Err)
		}
	}
}

func TestEnvironmentTag(t *testing.T) {
	for environment, want := range map[string]string{
		"":                                "",
		"production":                      "production",
		"production:eu":                   "production",
		"eu-1.prod_2":                     "eu-1.prod_2",
		"deadbeef":                        "",
		"deps-" + strings.Repeat("0", 32): "",
		strings.Repeat("a", 32):           "",
		"beef":                            "beef",
		"with space":                      "",
		"-dash":                           "",
		strings.Repeat("x", 129):          "",
		"größe":                           "",
	} {
		if got := orchestrator.EnvironmentTag(environment); got != want {
			t.Errorf("EnvironmentTag(%q) is %q, want %q", environment, got, want)
		}
	}
}

// Images that are still to be built stand in the chart that is checked with a
// digest that nothing has, and in the one that is released with their own.
func TestCheckedBeforeAnythingIsBuilt(t *testing.T) {
	s := newSite(t, shop)
	r := &releaser{}
	var seen []string
	d := &orchestrator.Delivery{Releaser: r, Chart: func(references map[graph.ID]orchestrator.Reference, _ map[string]string) (*chart.Chart, error) {
		seen = append(seen, references[mail].Digest)
		return &chart.Chart{Name: "shop"}, nil
	}}
	plan := s.mustPlan()
	if err := d.Check(t.Context(), plan); err != nil || len(r.checked) != 1 || r.asked != 0 {
		t.Fatalf("checked %d charts, asked %d times, %v", len(r.checked), r.asked, err)
	}
	o := orchestrator.Orchestrator{Index: s.index(), Builder: s.builder, Registry: s.registry, Release: d}
	summary := o.Build(t.Context(), plan)
	if want := []string{orchestrator.Placeholder, summary.References[mail].Digest}; !summary.OK || !slices.Equal(seen, want) {
		t.Errorf("charts were made with %q, want %q", seen, want)
	}
}

// An unchanged run has three uses for one answer of the cluster.
func TestUnchangedReleaseIsOneQuestion(t *testing.T) {
	s := newSite(t, shop)
	r := &landing{}
	deploy := func() orchestrator.Summary {
		d := &orchestrator.Delivery{Releaser: r, Chart: emptyChart}
		plan := s.mustPlan()
		if _, err := d.Current(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		return orchestrator.Orchestrator{Index: s.index(), Builder: s.builder, Registry: s.registry, Release: d}.Build(t.Context(), plan)
	}
	deploy()
	r.asked = 0
	if again := deploy(); again.Release.Status != orchestrator.ReleaseUnchanged || r.asked != 1 {
		t.Errorf("%+v after %d questions", again.Release, r.asked)
	}
}
