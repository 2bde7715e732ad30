package ui

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

// nightlyRun are the events of a rebuild in which an audit condemns an image.
func nightlyRun(t testing.TB) []orchestrator.Event {
	plan := shopPlan(t)
	for i := range plan.Steps {
		plan.Steps[i].Cached, plan.Steps[i].Anew, plan.Steps[i].Reason = false, true, "a rebuild was asked for"
	}
	missed := orchestrator.Finding{
		ID: billing, Verdict: orchestrator.VerdictMissedInput, Reference: reference(billing, ""),
		Published: digest("then"), Rebuilt: digest("now"), Differing: 12,
	}
	for i := range 12 {
		missed.Differences = append(missed.Differences, orchestrator.Difference{Part: "layer 3", Path: fmt.Sprintf("/composition/billing-payments/rates|%02d.csv", i), What: "content"})
	}
	unsteady := orchestrator.Finding{
		ID: deps, Verdict: orchestrator.VerdictNotReproducible, Reference: reference(deps, ""),
		Published: digest("first"), Rebuilt: digest("second"), Differing: 1,
		Differences: []orchestrator.Difference{{Platform: "linux/arm64", Part: "config", Path: "created", What: "value"}},
	}
	same := orchestrator.Finding{ID: edge, Verdict: orchestrator.VerdictSame, Published: digest(edge), Rebuilt: digest(edge)}
	created := orchestrator.Finding{ID: notices, Verdict: orchestrator.VerdictNew, Rebuilt: digest(notices)}
	events := []orchestrator.Event{orchestrator.PlanEvent{Plan: plan}}
	findings := []orchestrator.Finding{missed, created, unsteady, same}
	for _, f := range findings {
		all := built(f.ID, 3*time.Second)
		events = append(events, all[:3]...)
		events = append(events, orchestrator.AuditEvent{Finding: f})
		events = append(events, all[3:]...)
	}
	return append(events, orchestrator.SummaryEvent{Summary: orchestrator.Summary{
		Total: 4, Built: 4, RegistryRequests: 8, BytesPushed: 800,
		References: map[graph.ID]orchestrator.Reference{edge: reference(edge, digest(edge))},
		Findings:   findings,
		Paces: []orchestrator.Pace{
			{ID: edge, Took: 13 * time.Second, Median: 8 * time.Second, Runs: 7},
			{ID: billing, Took: 3 * time.Second, Median: 3 * time.Second, Runs: 7},
			{ID: notices, Took: 3 * time.Second},
		},
		Elapsed: 14 * time.Second,
		Err:     &orchestrator.AuditError{Findings: []orchestrator.Finding{missed}},
	}})
}

// quietly is what a quiet run says.
func quietly(t *testing.T, events []orchestrator.Event) string {
	t.Helper()
	var out bytes.Buffer
	sink := NewQuiet(&out)
	observe(sink, events)
	if out.Len() > 0 {
		t.Errorf("something is said before the end: %q", out.String())
	}
	for range 2 {
		if err := sink.Close(); err != nil {
			t.Error(err)
		}
	}
	return out.String()
}

func TestQuiet(t *testing.T) {
	if text := quietly(t, goodRun(t)); text != "" {
		t.Errorf("all is well, and it says %q", text)
	}
	for name, run := range map[string][]orchestrator.Event{"bad": badRun(t), "nightly": nightlyRun(t)} {
		golden(t, "quiet-"+name+".txt", quietly(t, run))
	}
}

// However many images fail and however much they say, it is one screen, and each
// is named while there is room for that.
func TestQuietIsOneScreen(t *testing.T) {
	for _, count := range []int{1, 5, 15, 200} {
		var events []orchestrator.Event
		for i := range count {
			id := graph.ID(fmt.Sprintf("composition/c%03d", i))
			for range 30 {
				events = append(events, orchestrator.LogEvent{ID: id, Text: "a line of its log"})
			}
			events = append(events, fails(id, time.Second))
		}
		text := quietly(t, append(events, orchestrator.SummaryEvent{Summary: orchestrator.Summary{Total: count, Failed: count}}))
		if lines := strings.Count(text, "\n"); lines > screenful {
			t.Errorf("%d failed images take %d lines:\n%s", count, lines, text)
		}
		if named := strings.Count(text, "composition/"); named < min(count, screenful-2) {
			t.Errorf("%d of %d failed images are named:\n%s", named, count, text)
		}
	}
}

func TestJUnit(t *testing.T) {
	for name, run := range map[string][]orchestrator.Event{"good": goodRun(t), "bad": badRun(t), "nightly": nightlyRun(t), "interrupted": badRun(t)[:6]} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "report.xml")
			sink, err := CreateJUnit(path)
			if err != nil {
				t.Fatal(err)
			}
			observe(sink, run)
			for range 2 {
				if err := sink.Close(); err != nil {
					t.Error(err)
				}
			}
			text := read(t, path)
			golden(t, "junit-"+name+".xml", text)
			var back suites
			if err := xml.Unmarshal([]byte(text), &back); err != nil || len(back.Suites) != 1 || len(back.Suites[0].Cases) != back.Suites[0].Tests {
				t.Errorf("read back: %v, %+v", err, back)
			}
		})
	}
	if _, err := CreateJUnit(filepath.Join(t.TempDir(), "none", "report.xml")); err == nil {
		t.Error("a report is written where there is no directory")
	}
}

func TestVerdictsTellTheWorstFirst(t *testing.T) {
	var all []orchestrator.Finding
	for _, v := range []orchestrator.Verdict{"same", "same", "new", "wrong entry", "not reproducible", "missed input"} {
		all = append(all, orchestrator.Finding{Verdict: v})
	}
	if got, want := verdicts(all), "1 wrong entry, 1 missed input, 1 not reproducible, 1 new, 2 same"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
