package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

// comparer takes the digest of an artifact apart: "sha256:" and words between
// dots, each a place.
type comparer struct{ read []string }

func (c *comparer) Published(_ context.Context, _ orchestrator.Step, digest string) (orchestrator.Artifact, error) {
	c.read = append(c.read, digest)
	return artifact(digest), nil
}

func (c *comparer) Compare(_ context.Context, a, b orchestrator.Artifact) ([]orchestrator.Difference, error) {
	was, is := strings.Split(a.Digest(), "."), strings.Split(b.Digest(), ".")
	var all []orchestrator.Difference
	for i := range max(len(was), len(is)) {
		if i >= len(was) || i >= len(is) || was[i] != is[i] {
			all = append(all, orchestrator.Difference{Part: "layer 1", Path: fmt.Sprint("/", i), What: "content"})
		}
	}
	return all, nil
}

// rebuilder makes what it is told to of one image, one after the other.
type rebuilder struct {
	*builder
	id   graph.ID
	made []string
}

func (b *rebuilder) Build(ctx context.Context, step orchestrator.Step, deps []orchestrator.Result) (orchestrator.Artifact, error) {
	image, err := b.builder.Build(ctx, step, deps)
	if step.ID != b.id || err != nil || !step.Anew {
		return image, err
	}
	next := b.made[0]
	b.made = b.made[1:]
	return artifact(next), nil
}

// publish puts an image under the tag of a step behind toa's back.
func (s *site) publish(id graph.ID, digest string) {
	step, _ := s.mustPlan().Step(id)
	s.registry.tags[step.Reference.Repository+":"+step.Reference.Tag] = digest
}

// auditing rebuilds everything and compares.
func (s *site) auditing(b orchestrator.Builder, compare orchestrator.Comparer) orchestrator.Summary {
	s.Helper()
	plan, err := s.plan(func(p *orchestrator.Planner) { p.Rebuild = true })
	if err != nil {
		s.Fatal(err)
	}
	o := orchestrator.Orchestrator{Index: s.index(), Builder: b, Registry: s.registry, Audit: compare, Jobs: 1}
	return o.Build(s.Context(), plan)
}

func finding(s orchestrator.Summary, id graph.ID) orchestrator.Finding {
	at := slices.IndexFunc(s.Findings, func(f orchestrator.Finding) bool { return f.ID == id })
	if at < 0 {
		return orchestrator.Finding{}
	}
	return s.Findings[at]
}

func TestVerdicts(t *testing.T) {
	for name, row := range map[string]struct {
		published string
		made      []string
		want      orchestrator.Verdict
		places    string
	}{
		"same":                           {"a.b.c", []string{"a.b.c"}, orchestrator.VerdictSame, ""},
		"rebuilds differ where it does":  {"a.b.c", []string{"a.b.1", "a.b.2"}, orchestrator.VerdictNotReproducible, "/2"},
		"rebuilds agree":                 {"a.b.c", []string{"a.x.c", "a.x.c"}, orchestrator.VerdictMissedInput, "/1"},
		"one is steady, the other not":   {"a.b.c", []string{"a.x.1", "a.x.2"}, orchestrator.VerdictMissedInput, "/1"},
		"once more it is as it had been": {"a.b.c", []string{"a.b.1", "a.b.c"}, orchestrator.VerdictNotReproducible, "/2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, shop)
			s.publish(mail, row.published)
			summary := s.auditing(&rebuilder{s.builder, mail, row.made}, &comparer{})
			found := finding(summary, mail)
			var places []string
			for _, d := range found.Differences {
				places = append(places, d.Path)
			}
			if found.Verdict != row.want || strings.Join(places, " ") != row.places || found.Differing != len(places) {
				t.Errorf("got %q in %q, want %q in %q", found.Verdict, places, row.want, row.places)
			}
			var condemned *orchestrator.AuditError
			if errors.As(summary.Err, &condemned) != row.want.Condemns() || summary.OK == row.want.Condemns() {
				t.Errorf("the run says %v", summary.Err)
			}
			if got := summary.References[mail].Digest; got != row.published {
				t.Errorf("reference is %s, want the published %s", got, row.published)
			}
			if other := finding(summary, edge); other.Verdict != orchestrator.VerdictNew {
				t.Errorf("%s is %q, want new", edge, other.Verdict)
			}
		})
	}
}

func TestWrongEntries(t *testing.T) {
	for name, row := range map[string]struct {
		made    []string
		text    string
		indexed string
	}{
		"the index is wrong":   {[]string{"registry"}, "the index was corrected", "registry"},
		"the registry is":      {[]string{"index", "index"}, "the tag was moved", "index"},
		"the rebuild is other": {[]string{"third", "third"}, "neither, but third", "index"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, shop)
			s.publish(mail, "registry")
			step, _ := s.mustPlan().Step(mail)
			host := orchestrator.RegistryHost("registry.test")
			if err := s.index().Put(host, step.Reference.Repository, step.Key, cache.Entry{Digest: "index"}, string(mail), nil); err != nil {
				t.Fatal(err)
			}
			summary := s.auditing(&rebuilder{s.builder, mail, row.made}, &comparer{})
			found := finding(summary, mail)
			if found.Verdict != orchestrator.VerdictWrongEntry || !strings.Contains(found.Text(), row.text) || summary.OK {
				t.Errorf("%s: %s; %v", found.Verdict, found.Text(), summary.Err)
			}
			entry, err := s.index().Get(host, step.Reference.Repository, step.Key)
			if err != nil || entry.Digest != row.indexed {
				t.Errorf("the index has %q, %v afterwards, want %q", entry.Digest, err, row.indexed)
			}
		})
	}
}

func TestRebuildReleasesNothingNew(t *testing.T) {
	s := newSite(t, shop, installing)
	r := &releaser{}
	deliver := func(o *orchestrator.Orchestrator) {
		o.Release = &orchestrator.Delivery{Releaser: r, Chart: emptyChart}
	}
	s.build(deliver)
	plan, err := s.plan(func(p *orchestrator.Planner) { p.Rebuild = true })
	if err != nil {
		t.Fatal(err)
	}
	s.builder.reset()
	o := orchestrator.Orchestrator{Index: s.index(), Builder: s.builder, Registry: s.registry, Audit: &comparer{}}
	deliver(&o)
	summary := o.Build(t.Context(), plan)
	if !summary.OK || summary.Built != 4 || len(s.builder.built) != 4 || summary.Release.Status != orchestrator.ReleaseUnchanged || r.made != 1 {
		t.Errorf("%+v, built %q, released %d times", summary, s.builder.built, r.made)
	}
}

func TestCondemnedImagesAreNotReleased(t *testing.T) {
	s := newSite(t, shop)
	s.publish(mail, "other")
	r := &releaser{}
	plan, err := s.plan(func(p *orchestrator.Planner) { p.Rebuild = true })
	if err != nil {
		t.Fatal(err)
	}
	o := orchestrator.Orchestrator{
		Index: s.index(), Builder: s.builder, Registry: s.registry, Audit: &comparer{},
		Release: &orchestrator.Delivery{Releaser: r, Chart: emptyChart},
	}
	if summary := o.Build(t.Context(), plan); summary.OK || r.made != 0 {
		t.Errorf("%+v, released %d times", summary, r.made)
	}
}

func TestSampleIsRebuiltAndNothingElse(t *testing.T) {
	s := newSite(t, shop, installing)
	s.build(nil)
	plan := s.mustPlan()
	plan.Sample(0.3) // of four: two, rounded up
	s.builder.reset()
	o := orchestrator.Orchestrator{Index: s.index(), Builder: s.builder, Registry: s.registry, Audit: &comparer{}}
	summary := o.Build(t.Context(), plan)
	if !summary.OK || len(summary.Findings) != 2 || len(s.builder.built) != 2 || summary.Cached != 2 {
		t.Errorf("%+v, built %q", summary, s.builder.built)
	}
}

func TestParseSample(t *testing.T) {
	for text, want := range map[string]float64{"all": 1, "sample:5%": 0.05, "sample:100%": 1, "sample:0%": 0} {
		if got, err := orchestrator.ParseSample(text); got != want || err != nil {
			t.Errorf("ParseSample(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "some", "sample", "sample:5", "sample:101%", "sample:-1%", "sample:NaN%", "older:5%"} {
		if got, err := orchestrator.ParseSample(text); err == nil {
			t.Errorf("ParseSample(%q) = %v, want an error", text, got)
		}
	}
}

func TestCompleteBuildsNothing(t *testing.T) {
	s := newSite(t, shop, installing)
	complete := func(o *orchestrator.Orchestrator) { o.Complete = true }
	summary := s.build(complete)
	var missing *orchestrator.UnpublishedError
	if summary.OK || !errors.As(summary.Err, &missing) || len(missing.Images) != 4 || len(s.builder.built) != 0 {
		t.Fatalf("nothing is published: %+v, built %q", summary, s.builder.built)
	}
	s.build(nil)
	s.cache = t.TempDir() // another machine's
	if summary := s.build(complete); !summary.OK || summary.Cached != 4 {
		t.Errorf("all is published: %+v", summary)
	}
}

func TestPacesAreThoseOfRebuilds(t *testing.T) {
	s := newSite(t, shop)
	rebuild := func() orchestrator.Summary {
		plan, err := s.plan(func(p *orchestrator.Planner) { p.Rebuild = true })
		if err != nil {
			t.Fatal(err)
		}
		index := s.index()
		return orchestrator.Orchestrator{Index: index, Builder: s.builder, Registry: s.registry, History: index}.Build(t.Context(), plan)
	}
	if first := s.build(func(o *orchestrator.Orchestrator) { o.History = s.index() }); len(first.Paces) != 0 {
		t.Errorf("a build has paces: %+v", first.Paces)
	}
	rebuild()
	second := rebuild()
	if len(second.Paces) != 3 || second.Paces[0].Runs != 1 || second.Paces[0].Median == 0 || second.Paces[0].Took == 0 {
		t.Errorf("after one rebuild: %+v", second.Paces)
	}
	if costs, measured := s.mustPlan().Costs(s.index()); len(costs) != 3 || !measured || costs[mail] == 0 {
		t.Errorf("costs are %v, measured %t, want three", costs, measured)
	}
}

func TestSlower(t *testing.T) {
	for name, row := range map[string]struct {
		took, median time.Duration
		runs         int
		want         bool
	}{
		"by more than a quarter":  {13 * time.Second, 10 * time.Second, 3, true},
		"by a quarter":            {12500 * time.Millisecond, 10 * time.Second, 9, false},
		"by half a second at 1 s": {1500 * time.Millisecond, time.Second, 3, true},
		"by noise":                {140 * time.Millisecond, 50 * time.Millisecond, 10, false},
		"against two runs":        {20 * time.Second, 10 * time.Second, 2, false},
		"quicker":                 {time.Second, 10 * time.Second, 10, false},
	} {
		if got := (orchestrator.Pace{Took: row.took, Median: row.median, Runs: row.runs}).Slower(); got != row.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
