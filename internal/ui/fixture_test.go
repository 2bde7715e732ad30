package ui

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (rewrite with -update):\n--- got\n%s\n--- want\n%s", path, got, want)
	}
}

const (
	deps    graph.ID = "dependencies/edge"
	edge    graph.ID = "composition/edge"
	billing graph.ID = "composition/billing"
	notices graph.ID = "composition/notices-letters"
)

// shopPlan has four images, of which one is cached.
func shopPlan(t testing.TB) *orchestrator.Plan {
	t.Helper()
	orders, products, payments, letters := graph.ID("component/store-orders"), graph.ID("component/store-products"), graph.ID("component/billing-payments"), graph.ID("component/notices-letters")
	g, err := graph.New([]graph.Target{
		{ID: orders},
		{ID: products},
		{ID: payments},
		{ID: letters},
		{ID: deps, Dependencies: []graph.ID{orders}},
		{ID: edge, Dependencies: []graph.ID{deps, orders, products}},
		{ID: billing, Dependencies: []graph.ID{payments, orders}},
		{ID: notices, Dependencies: []graph.ID{letters}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &orchestrator.Plan{
		Context:  "shop",
		Registry: "registry.example.com/shop",
		Graph:    g,
		Steps: []orchestrator.Step{
			step(deps, "package-lock.json of store.orders changed", false, "store-orders"),
			step(edge, "dependencies/edge changed", false, "store-orders", "store-products"),
			step(billing, "published on 2026-11-02", true, "billing-payments", "store-orders"),
			step(notices, "never published", false, "notices-letters"),
		},
		Trees: map[string]*cache.Tree{
			"store.orders": cache.NewTree([]cache.File{
				cache.Generated("manifest.toa.yaml", []byte("name: orders\n")),
				cache.Generated("operations/transit.js", make([]byte, 1400)),
			}),
			"store.products":   cache.NewTree([]cache.File{cache.Generated("manifest.toa.yaml", []byte("x"))}),
			"billing.payments": cache.NewTree([]cache.File{cache.Generated("manifest.toa.yaml", []byte("xy"))}),
		},
	}
}

func step(id graph.ID, reason string, cached bool, labels ...string) orchestrator.Step {
	s := orchestrator.Step{ID: id, Key: cache.Digest([]byte(id)), Reference: reference(id, ""), Cached: cached, Reason: reason}
	for _, label := range labels {
		s.Sources = append(s.Sources, orchestrator.Source{Label: label, Component: strings.Replace(label, "-", ".", 1)})
	}
	return s
}

func reference(id graph.ID, digest string) orchestrator.Reference {
	return orchestrator.Reference{
		Repository: "registry.example.com/shop/" + strings.ReplaceAll(string(id), "/", "-"),
		Tag:        cache.Digest([]byte(id)).Tag(),
		Digest:     digest,
	}
}

func digest(id graph.ID) string { return "sha256:" + cache.Digest([]byte("image "+id)).String() }

// move is the event of an image that has come to a status.
func move(id graph.ID, status string, elapsed time.Duration) orchestrator.ImageEvent {
	e := orchestrator.ImageEvent{ID: id, Status: status, Elapsed: elapsed}
	if status == orchestrator.StatusPublished || status == orchestrator.StatusCached {
		e.Reference = reference(id, digest(id))
	}
	return e
}

var errCompile = errors.New("install packages of store.orders: npm ci: exit status 1\nlockfile is out of date")

func fails(id graph.ID, elapsed time.Duration) orchestrator.ImageEvent {
	e := move(id, orchestrator.StatusFailed, elapsed)
	e.Err = errCompile
	return e
}

// built are the events of one image from the queue to the registry.
func built(id graph.ID, elapsed time.Duration) []orchestrator.Event {
	return []orchestrator.Event{
		move(id, orchestrator.StatusQueued, 0),
		move(id, orchestrator.StatusBuilding, 0),
		move(id, orchestrator.StatusBuilt, elapsed/2),
		move(id, orchestrator.StatusPublishing, elapsed/2),
		move(id, orchestrator.StatusPublished, elapsed),
	}
}

// goodRun are the events of a run that ends well.
func goodRun(t testing.TB) []orchestrator.Event {
	events := []orchestrator.Event{
		orchestrator.PlanEvent{Plan: shopPlan(t)},
		orchestrator.NoticeEvent{Text: "amqp is not acted on yet (context.toa.yaml:12:1)"},
		move(billing, orchestrator.StatusCached, 0),
		orchestrator.LogEvent{ID: deps, Stream: "stdout", Text: "added 12 packages"},
	}
	events = append(events, built(deps, 3*time.Second)...)
	events = append(events, built(edge, 400*time.Millisecond)...)
	events = append(events, built(notices, 600*time.Millisecond)...)
	release := orchestrator.Release{
		Status: "packaged", Chart: "/cache/shop-0.1.0.tgz", Namespace: "shop-staging",
		Command: "helm upgrade --install shop /cache/shop-0.1.0.tgz",
	}
	return append(
		events,
		orchestrator.ReleaseEvent{Release: release},
		orchestrator.SummaryEvent{Summary: orchestrator.Summary{
			OK: true, Total: 4, Cached: 1, Built: 3,
			RegistryRequests: 17, BytesPushed: 3_412_000,
			References: map[graph.ID]orchestrator.Reference{
				edge: reference(edge, digest(edge)), billing: reference(billing, digest(billing)), notices: reference(notices, digest(notices)),
			},
			Release: release,
			Elapsed: 3600 * time.Millisecond,
		}},
	)
}

// badRun are the events of a run in which one image fails.
func badRun(t testing.TB) []orchestrator.Event {
	events := []orchestrator.Event{
		orchestrator.PlanEvent{Plan: shopPlan(t)},
		move(billing, orchestrator.StatusCached, 0),
		move(deps, orchestrator.StatusBuilding, 0),
	}
	for _, text := range []string{"npm error code EUSAGE", "npm error \x1b[31mMissing:\x1b[0m lodash@4.17.21", "\tfrom lock file"} {
		events = append(events, orchestrator.LogEvent{ID: deps, Stream: "stderr", Text: text})
	}
	events = append(events, built(notices, 600*time.Millisecond)...)
	return append(
		events,
		fails(deps, 1200*time.Millisecond),
		move(edge, orchestrator.StatusSkipped, 0),
		orchestrator.SummaryEvent{Summary: orchestrator.Summary{
			Total: 4, Cached: 1, Built: 1, Failed: 1, Skipped: 1,
			RegistryRequests: 6, BytesPushed: 800,
			References: map[graph.ID]orchestrator.Reference{notices: reference(notices, digest(notices))},
			Failures:   map[graph.ID]error{deps: errCompile},
			Release:    orchestrator.Release{Status: "none"},
			Elapsed:    1300 * time.Millisecond,
			Err:        errors.New("build dependencies/edge: exit status 1"),
		}},
	)
}

func observe(sink Sink, events []orchestrator.Event) {
	for _, event := range events {
		sink.Observe(event)
	}
}
