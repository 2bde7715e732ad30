package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

func noEnv(string) string { return "" }

func TestPlain(t *testing.T) {
	for name, run := range map[string][]orchestrator.Event{"good": goodRun(t), "bad": badRun(t), "nightly": nightlyRun(t)} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			sink, err := New("auto", &stdout, &stderr, noEnv)
			if err != nil {
				t.Fatal(err)
			}
			observe(sink, run)
			if err := sink.Close(); err != nil {
				t.Error(err)
			}
			golden(t, "plain-"+name+".txt", "--- stderr\n"+stderr.String()+"--- stdout\n"+stdout.String())
		})
	}
}

// A run that publishes nothing has its images end as built.
func TestPlainWithoutRegistry(t *testing.T) {
	var stdout, stderr strings.Builder
	sink, _ := New("plain", &stdout, &stderr, noEnv)
	sink.Observe(move(edge, orchestrator.StatusBuilding, 0))
	sink.Observe(move(edge, orchestrator.StatusBuilt, time.Second))
	sink.Observe(orchestrator.SummaryEvent{Summary: orchestrator.Summary{OK: true, Total: 1, Built: 1}})
	if got := stderr.String(); !strings.HasPrefix(got, "composition/edge  built in 1.0s\n") {
		t.Errorf("stderr = %q", got)
	}
}

// What was waiting or under way when a run was stopped was not tried to its end.
func TestStoppedRunNamesWhatItLeft(t *testing.T) {
	var stderr strings.Builder
	sink, _ := New("plain", io.Discard, &stderr, noEnv)
	observe(sink, []orchestrator.Event{
		orchestrator.PlanEvent{Plan: shopPlan(t)},
		move(deps, orchestrator.StatusBuilding, 0),
		orchestrator.SummaryEvent{Summary: orchestrator.Summary{Total: 4, Cached: 1, Skipped: 3, Elapsed: time.Second}},
	})
	want := `plan: 4 images, 1 cached, 3 to build
not tried: dependencies/edge, composition/edge, composition/notices-letters
failed: 3 not tried, 1 cached in 1.0s; registry: 0 requests, 0 B sent
`
	if got := stderr.String(); got != want {
		t.Errorf("stderr =\n%s\nwant\n%s", got, want)
	}
}

func TestEvents(t *testing.T) {
	for name, run := range map[string][]orchestrator.Event{"good": goodRun(t), "bad": badRun(t), "nightly": nightlyRun(t)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stdout, stderr strings.Builder
				sink, err := New("json", &stdout, &stderr, noEnv)
				if err != nil {
					t.Fatal(err)
				}
				for _, event := range run {
					sink.Observe(event)
					time.Sleep(1500 * time.Microsecond)
				}
				sink.Observe(orchestrator.NoticeEvent{Text: "too late"})
				if err := sink.Close(); err != nil {
					t.Error(err)
				}
				if stderr.String() != "" {
					t.Errorf("stderr = %q, want nothing", stderr.String())
				}
				golden(t, "events-"+name+".jsonl", stdout.String())
			})
		})
	}
}

func TestEventsEndWithASummary(t *testing.T) {
	var stdout bytes.Buffer
	sink, _ := New("json", &stdout, io.Discard, noEnv)
	sink.Observe(orchestrator.NoticeEvent{Text: "hello"})
	_ = sink.Close()
	_ = sink.Close()
	written := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	var last struct {
		Event, Error string
		OK           *bool
		References   map[string]string
		Release      struct{ Status string }
	}
	if err := json.Unmarshal([]byte(written[len(written)-1]), &last); err != nil {
		t.Fatal(err)
	}
	if len(written) != 2 || last.Event != "summary" || last.OK == nil || *last.OK || last.Error == "" || last.References == nil || last.Release.Status != "none" {
		t.Errorf("lines = %q, want a notice and a summary that is not ok", written)
	}
}

// hostile is a run in which every text is text.
func hostile(t testing.TB, text string) []orchestrator.Event {
	id := graph.NewID("composition", text)
	g, err := graph.New([]graph.Target{{ID: id}, {ID: graph.NewID("component", text+"x"), Dependencies: []graph.ID{id}}})
	if err != nil {
		t.Fatal(err)
	}
	ref := orchestrator.Reference{Repository: text + "r", Tag: text, Digest: text}
	release := orchestrator.Release{Status: text, Chart: text, Command: text, Namespace: text}
	plan := &orchestrator.Plan{
		Context: text, Registry: text, Graph: g,
		Steps: []orchestrator.Step{{ID: id, Reason: text, Reference: ref}},
	}
	failed := orchestrator.ImageEvent{ID: id, Status: orchestrator.StatusFailed, Reference: ref, Reason: text, Err: errors.New(text)}
	return []orchestrator.Event{
		orchestrator.PlanEvent{Plan: plan},
		orchestrator.NoticeEvent{Text: text},
		orchestrator.LogEvent{ID: id, Stream: text, Text: text},
		orchestrator.ImageEvent{ID: id, Status: orchestrator.StatusBuilding, Reason: text},
		orchestrator.ImageEvent{ID: id, Status: orchestrator.StatusPublished, Reference: ref, Reason: text},
		failed,
		orchestrator.ImageEvent{ID: graph.ID(text + "y"), Status: orchestrator.StatusSkipped},
		orchestrator.ReleaseEvent{Release: release},
		orchestrator.SummaryEvent{Summary: orchestrator.Summary{
			OK: true, Total: 1, Release: release, Err: errors.New(text),
			References: map[graph.ID]orchestrator.Reference{id: ref},
			Failures:   map[graph.ID]error{id: errors.New(text)},
		}},
	}
}

// No text of a run reaches a terminal, a log or a report as a control character.
func FuzzSinksPrintNoControls(f *testing.F) {
	f.Add("\x1b]0;title\a\x1b[2J\r\u202eevil\u009b31m\xff")
	f.Add("a\nb\u2028c|`*<script>")
	f.Fuzz(func(t *testing.T, text string) {
		var out bytes.Buffer
		board := newBoard()
		plain := newPlain(&out, &out)
		events := newEvents(&out)
		run := hostile(t, text)
		for _, event := range run {
			plain.Observe(event)
			events.Observe(event)
			board.apply(event)
		}
		plan := run[0].(orchestrator.PlanEvent).Plan
		out.WriteString(markdown(board))
		_ = WritePlan(&out, plan)
		_ = WritePlanJSON(&out, plan, nil)
		for _, format := range Formats {
			if err := Show(&out, plan, format); err != nil {
				t.Fatal(err)
			}
		}
		for i, r := range out.String() {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Fatalf("%U at %d: %q", r, i, out.String()[max(0, i-40):i+1])
			}
		}
	})
}

func TestLiveIsSafeToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vt := newTerminal(t, 60, 10) // it fails the test for anything it does not know
		sink := newLive(io.Discard, newScreen(vt, vt.size, true))
		for _, event := range hostile(t, "\x1b[2J\r\u202eevil\u009b31m\xff\nx") {
			sink.Observe(event)
			frame()
		}
		_ = sink.Close()
	})
}

func TestNewRefusesUnknownModes(t *testing.T) {
	_, err := New("fancy", io.Discard, io.Discard, noEnv)
	var unknown *ModeError
	if !errors.As(err, &unknown) || unknown.Hint() != "use auto, tty, plain or json" {
		t.Errorf("New = %v, want a *ModeError with a hint", err)
	}
}

func TestNewWithoutATerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, mode := range []string{"auto", "tty", "plain"} {
		sink, err := New(mode, io.Discard, file, noEnv)
		if _, isPlain := sink.(*plain); err != nil || !isPlain {
			t.Errorf("New(%q) on a file = %T, %v, want plain", mode, sink, err)
		}
	}
}

func TestInCI(t *testing.T) {
	for value, want := range map[string]bool{"": false, "false": false, "0": false, "true": true, "1": true, "woodpecker": true} {
		if got := inCI(func(string) string { return value }); got != want {
			t.Errorf("inCI with CI=%q = %v, want %v", value, got, want)
		}
	}
}

// full is a disk that is.
type full struct{ writes int }

var errFull = errors.New("no space left on device")

func (f *full) Write([]byte) (int, error) {
	f.writes++
	return 0, errFull
}

func TestSinksReportWhatTheyCouldNotWrite(t *testing.T) {
	for name, open := range map[string]func(w io.Writer) Sink{
		"plain":  func(w io.Writer) Sink { return newPlain(io.Discard, w) },
		"stdout": func(w io.Writer) Sink { return newPlain(w, io.Discard) },
		"events": func(w io.Writer) Sink { return newEvents(w) },
		"live": func(w io.Writer) Sink {
			return newLive(io.Discard, newScreen(w, func() (int, int) { return 80, 24 }, true))
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk := &full{}
			sink := Tee(open(disk))
			observe(sink, goodRun(t))
			if err := sink.Close(); !errors.Is(err, errFull) {
				t.Errorf("Close = %v, want %v", err, errFull)
			}
			if disk.writes != 1 {
				t.Errorf("%d writes, want one and then no more", disk.writes)
			}
		})
	}
}

// Events of many images overlap.
func TestSinksTakeOverlappingEvents(t *testing.T) {
	dir := t.TempDir()
	report, err := CreateReport(filepath.Join(dir, "summary.md"))
	if err != nil {
		t.Fatal(err)
	}
	trace, err := CreateTrace(filepath.Join(dir, "trace.json"))
	if err != nil {
		t.Fatal(err)
	}
	var jsonOut, plainOut, liveOut bytes.Buffer
	sink := Tee(
		newEvents(&jsonOut), newPlain(io.Discard, &plainOut), report, trace,
		newLive(io.Discard, newScreen(&liveOut, func() (int, int) { return 80, 24 }, true)),
	)
	sink.Observe(orchestrator.PlanEvent{Plan: shopPlan(t)})
	var images sync.WaitGroup
	for _, id := range []graph.ID{deps, edge, notices, "composition/a", "composition/b", "composition/c"} {
		images.Go(func() {
			for range 50 {
				sink.Observe(orchestrator.LogEvent{ID: id, Text: "working"})
			}
			observe(sink, built(id, time.Millisecond))
		})
	}
	images.Wait()
	sink.Observe(orchestrator.SummaryEvent{Summary: orchestrator.Summary{OK: true, Built: 6}})
	if err := sink.Close(); err != nil {
		t.Error(err)
	}
	if got, want := strings.Count(jsonOut.String(), "\n"), 1+6*(50+5)+1; got != want {
		t.Errorf("%d JSON lines, want %d", got, want)
	}
	if got := strings.Count(plainOut.String(), "  built in"); got != 6 {
		t.Errorf("%d plain lines for 6 images:\n%s", got, plainOut.String())
	}
	if got := strings.Count(liveOut.String(), "✓"); got != 7 {
		t.Errorf("%d marks on the terminal, want one for each of 6 images and the run", got)
	}
}
