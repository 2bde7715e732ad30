package ui

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

// frame lets the display draw once more.
func frame() {
	time.Sleep(frameTime)
	synctest.Wait()
}

func TestLiveFrames(t *testing.T) {
	for name, run := range map[string][]orchestrator.Event{"good": goodRun(t), "bad": badRun(t), "nightly": nightlyRun(t)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				vt := newTerminal(t, 90, 20)
				sink := newLive(io.Discard, newScreen(vt, vt.size, true))
				var story strings.Builder
				for i, event := range run {
					sink.Observe(event)
					frame()
					fmt.Fprintf(&story, "═══ %d %T\n%s\n", i, event, vt.text())
				}
				if err := sink.Close(); err != nil {
					t.Error(err)
				}
				if vt.hidden {
					t.Error("the cursor is hidden at the end")
				}
				golden(t, "live-"+name+".txt", story.String())
			})
		})
	}
}

// However the terminal is resized, nothing of the region stays, as long as it is
// high enough for the rows that it has wrapped.
func TestLiveLeavesNoGarbage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vt := newTerminal(t, 100, 24)
		sink := newLive(io.Discard, newScreen(vt, vt.size, false))
		sink.Observe(orchestrator.PlanEvent{Plan: shopPlan(t)})
		sink.Observe(move(deps, orchestrator.StatusBuilding, 0))
		sink.Observe(move(edge, orchestrator.StatusBuilding, 0))
		frame()
		for _, size := range [][2]int{{30, 24}, {12, 20}, {5, 20}, {120, 24}, {60, 10}} {
			vt.resize(size[0], size[1])
			frame()
		}
		sink.Observe(orchestrator.NoticeEvent{Text: "stays"})
		frame()
		if err := sink.Close(); err != nil {
			t.Error(err)
		}
		if got, want := vt.text(), "  ! stays\n"; got != want {
			t.Errorf("the terminal shows %q, want %q", got, want)
		}
		if vt.hidden {
			t.Error("the cursor is hidden at the end")
		}
	})
}

func TestLiveDrawsSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vt := newTerminal(t, 100, 24)
		sink := newLive(io.Discard, newScreen(vt, vt.size, false))
		defer sink.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if vt.writes != 0 {
			t.Errorf("%d writes before anything happened", vt.writes)
		}
		sink.Observe(orchestrator.PlanEvent{Plan: shopPlan(t)})
		sink.Observe(move(deps, orchestrator.StatusBuilding, 0))
		for range 1000 {
			sink.Observe(orchestrator.LogEvent{ID: deps, Text: "working"})
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if vt.writes == 0 || vt.writes > 10 {
			t.Errorf("%d writes in a second, want 1 to 10", vt.writes)
		}
	})
}

func TestLiveFitsTheTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vt := newTerminal(t, 40, 6)
		sink := newLive(io.Discard, newScreen(vt, vt.size, false))
		defer sink.Close()
		for i := range 20 {
			sink.Observe(orchestrator.ImageEvent{
				ID: graph.NewID("composition", fmt.Sprintf("number%02d", i)), Status: orchestrator.StatusBuilding,
				Reason: strings.Repeat("because of 漢字 ", 20),
			})
		}
		frame()
		frame()
		shown := strings.Split(strings.TrimSuffix(vt.text(), "\n"), "\n")
		if len(shown) != 5 || strings.TrimSpace(shown[4]) != "and 17 more" {
			t.Errorf("%d rows, want 5 that end in a count:\n%s", len(shown), vt.text())
		}
		for _, row := range shown[1:4] {
			if width(row) > 39 || !strings.HasSuffix(row, "…") {
				t.Errorf("row %q is not cut to the width", row)
			}
		}
	})
}

func TestLiveIgnoresWhatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vt := newTerminal(t, 80, 24)
		sink := newLive(io.Discard, newScreen(vt, vt.size, true))
		observe(sink, goodRun(t))
		want := vt.text()
		observe(sink, badRun(t))
		frame()
		_ = sink.Close()
		_ = sink.Close()
		if got := vt.text(); got != want {
			t.Errorf("after the summary the terminal shows\n%s\nwant\n%s", got, want)
		}
	})
}

func TestLiveWithoutColor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		sink := newLive(io.Discard, newScreen(&out, func() (int, int) { return 80, 24 }, false))
		sink.Observe(orchestrator.PlanEvent{Plan: shopPlan(t)})
		frame()
		observe(sink, badRun(t))
		_ = sink.Close()
		for _, style := range []style{bold, dim, red, green, yellow, cyan, unstyled} {
			if strings.Contains(out.String(), string(style)) {
				t.Errorf("the display contains %q without color", style)
			}
		}
	})
}

// Too small a terminal shows little, but the run goes on.
func TestLiveInATinyTerminal(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {2, 2}, {10, 1}} {
		synctest.Test(t, func(t *testing.T) {
			vt := newTerminal(t, size[0], size[1])
			sink := newLive(io.Discard, newScreen(vt, vt.size, true))
			for _, event := range goodRun(t) {
				sink.Observe(event)
				frame()
			}
			if err := sink.Close(); err != nil || vt.hidden {
				t.Errorf("Close = %v, cursor hidden: %v", err, vt.hidden)
			}
		})
	}
}
