package orchestrator_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

func trusting(t *testing.T, text string) orchestrator.Trust {
	t.Helper()
	trust, err := orchestrator.ParseTrust(text)
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

// One image of three is edited. It takes two requests, and each of the other two
// takes one where the index is not trusted with it.
func TestTrust(t *testing.T) {
	for _, row := range []struct {
		trust    string
		releases bool
		want     int64
	}{
		{"release", false, 2},
		{"release", true, 4},
		{"never", true, 2},
		{"always", false, 4},
		{"older:0s", false, 4},
		{"older:24h", true, 2},
		{"sample:100%", false, 4},
		{"sample:0%", true, 2},
	} {
		t.Run(row.trust, func(t *testing.T) {
			s := newSite(t, shop)
			s.build(nil)
			s.write("components/mail/operations/send.js", "sent")
			summary := s.build(func(o *orchestrator.Orchestrator) {
				o.Trust = trusting(t, row.trust)
				if row.releases {
					o.Release = &orchestrator.Delivery{Releaser: &releaser{}, Chart: emptyChart}
				}
			})
			if !summary.OK || summary.RegistryRequests != row.want {
				t.Errorf("%d requests, %v, want %d", summary.RegistryRequests, summary.Err, row.want)
			}
		})
	}
}

func TestTrustThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "Release", "release:1", "never:", "older", "older:", "older:-1h", "older:1", "sample", "sample:5", "sample:101%", "sample:-1%", "sample:NaN%", "x"} {
		if trust, err := orchestrator.ParseTrust(text); err == nil || !strings.Contains(err.Error(), "expected release, never, always") {
			t.Errorf("ParseTrust(%q) = %+v, %v, want an error that names the forms", text, trust, err)
		}
	}
}

// partial is a registry in which parts of images may be gone.
type partial struct {
	*registry
	mu    sync.Mutex // guards all below
	parts map[string]error
	asked []string
}

func (p *partial) Verify(_ context.Context, ref orchestrator.Reference) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := ref.Repository[strings.LastIndexByte(ref.Repository, '/')+1:]
	p.asked = append(p.asked, id)
	err := p.parts[id]
	if errors.Is(err, cache.ErrNotFound) {
		p.delete(id) // it is published again when asked to
		delete(p.parts, id)
	}
	return err
}

// A part of an image that is to be released is gone: it is built in the same run.
func TestImageOfWhichAPartIsGone(t *testing.T) {
	s := newSite(t, shop)
	s.build(nil)
	broken := &partial{registry: s.registry, parts: map[string]error{"composition-edge": cache.ErrNotFound}}
	r := &releaser{}
	deliver := func(o *orchestrator.Orchestrator) {
		o.Registry = broken
		o.Release = &orchestrator.Delivery{Releaser: r, Chart: emptyChart}
	}
	if summary := s.build(deliver); !summary.OK || r.made != 1 {
		t.Fatalf("%v, %d releases", summary.Err, r.made)
	}
	if got, want := s.builder.names(), []graph.ID{edge}; !slices.Equal(got, want) {
		t.Errorf("built %q, want %q", got, want)
	}
	broken.parts = map[string]error{"composition-back": errBroken}
	s.write("components/mail/operations/send.js", "sent")
	if summary := s.build(deliver); summary.OK || !errors.Is(summary.Err, errBroken) || len(s.builder.built) != 0 || r.made != 1 {
		t.Errorf("a registry that does not say: %+v, built %q", summary, s.builder.built)
	}
}

// What a run finds in the registry and releases is looked at as a whole, too.
func TestFoundImagesAreLookedAtWhereTheyAreReleased(t *testing.T) {
	for _, row := range []struct {
		trust    string
		releases bool
		want     int
	}{{"release", false, 0}, {"release", true, 3}, {"never", true, 0}} {
		s := newSite(t, shop)
		s.build(nil)
		s.cache = t.TempDir()
		whole := &partial{registry: s.registry}
		summary := s.build(func(o *orchestrator.Orchestrator) {
			o.Registry, o.Trust = whole, trusting(t, row.trust)
			if row.releases {
				o.Release = &orchestrator.Delivery{Releaser: &releaser{}, Chart: emptyChart}
			}
		})
		if !summary.OK || len(whole.asked) != row.want {
			t.Errorf("%s, releases %t: asked for %q, %v, want %d", row.trust, row.releases, whole.asked, summary.Err, row.want)
		}
	}
}

// strict is a registry that makes no repositories.
type strict struct {
	*registry
	refuses map[graph.ID]error
}

func (s strict) Prepare(_ context.Context, step orchestrator.Step) error { return s.refuses[step.ID] }

func TestMissingRepositoriesAreNamedBeforeAnythingIsBuilt(t *testing.T) {
	s := newSite(t, shop)
	refusing := strict{s.registry, map[graph.ID]error{edge: orchestrator.ErrNoRepository, mail: orchestrator.ErrNoRepository}}
	summary := s.build(func(o *orchestrator.Orchestrator) { o.Registry = refusing })
	if summary.OK || len(s.builder.built) != 0 {
		t.Fatalf("%+v, built %q", summary, s.builder.built)
	}
	for _, id := range []graph.ID{edge, mail} {
		if !strings.Contains(summary.Err.Error(), string(id)) {
			t.Errorf("%v does not name %s", summary.Err, id)
		}
	}
	refusing.refuses = nil
	if summary := s.build(func(o *orchestrator.Orchestrator) { o.Registry = refusing }); !summary.OK || summary.Built != 3 {
		t.Errorf("after they were made: %+v", summary)
	}
}

// A row of next year was written while a clock was wrong: nobody knows how old it is.
func TestTrustOfRowsFromTheFuture(t *testing.T) {
	s := newSite(t, shop)
	s.build(nil)
	plan := s.mustPlan()
	index := s.index()
	for _, step := range plan.Steps {
		entry := cache.Entry{Digest: step.Reference.Digest, Platforms: step.Recipe.Platforms, VerifiedAt: time.Now().AddDate(1, 0, 0)}
		err := index.Put(orchestrator.RegistryHost(plan.Registry), step.Reference.Repository, step.Key, entry, string(step.ID), nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	older := func(o *orchestrator.Orchestrator) { o.Trust = trusting(t, "older:24h") }
	if summary := s.build(older); !summary.OK || summary.RegistryRequests != int64(len(plan.Steps)) {
		t.Errorf("%d requests, %v, want one for each of %d images", summary.RegistryRequests, summary.Err, len(plan.Steps))
	}
	if summary := s.build(older); !summary.OK || summary.RegistryRequests != 0 {
		t.Errorf("%d requests once they are verified, %v", summary.RegistryRequests, summary.Err)
	}
}
