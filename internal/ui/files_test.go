package ui

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReport(t *testing.T) {
	for name, run := range map[string][]orchestrator.Event{"good": goodRun(t), "bad": badRun(t), "nightly": nightlyRun(t), "interrupted": badRun(t)[:6]} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "summary.md")
			sink, err := CreateReport(path)
			if err != nil {
				t.Fatal(err)
			}
			observe(sink, run)
			if err := sink.Close(); err != nil {
				t.Error(err)
			}
			if err := sink.Close(); err != nil {
				t.Error(err)
			}
			golden(t, "summary-"+name+".md", read(t, path))
		})
	}
}

func TestReportAppendsOrReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.md")
	for _, tt := range []struct {
		open func(string) (Sink, error)
		want bool
	}{{AppendReport, true}, {CreateReport, false}} {
		if err := os.WriteFile(path, []byte("# before\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		sink, err := tt.open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Close(); err != nil {
			t.Error(err)
		}
		got := read(t, path)
		if kept := strings.HasPrefix(got, "# before\n"); kept != tt.want || !strings.Contains(got, "ended before") {
			t.Errorf("kept what was there: %v, want %v:\n%s", kept, tt.want, got)
		}
	}
}

func TestReportNamesThePathItCannotOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "summary.md")
	for _, open := range []func(string) (Sink, error){CreateReport, AppendReport, CreateTrace} {
		if _, err := open(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("open = %v, want an error that names %s", err, path)
		}
	}
}

func TestProse(t *testing.T) {
	for in, want := range map[string]string{
		"a|b":              `a\|b`,
		"<b>&":             `\<b\>\&`,
		"[x](y) `z` *a_":   "\\[x\\](y) \\`z\\` \\*a\\_",
		"@everyone #1":     `&#64;everyone \#1`,
		"one\ntwo\u202ex":  `one\\ntwo\\u202ex`,
		"plain words, 1.5": "plain words, 1.5",
	} {
		if got := prose(in); got != want {
			t.Errorf("prose(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFenceIsNotClosedByItsText(t *testing.T) {
	if got, want := fence([]string{"a", "````", "b"}), "`````text\na\n````\nb\n`````\n"; got != want {
		t.Errorf("fence = %q, want %q", got, want)
	}
}

func TestTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	synctest.Test(t, func(t *testing.T) {
		sink, err := CreateTrace(path)
		if err != nil {
			t.Fatal(err)
		}
		pause := func(ms int) { time.Sleep(time.Duration(ms) * time.Millisecond) }
		pause(20)
		sink.Observe(orchestrator.PlanEvent{Plan: shopPlan(t)})
		sink.Observe(move(deps, orchestrator.StatusBuilding, 0))
		pause(5)
		sink.Observe(move(notices, orchestrator.StatusBuilding, 0))
		pause(10)
		sink.Observe(move(deps, orchestrator.StatusBuilt, 0))
		sink.Observe(move(deps, orchestrator.StatusPublishing, 0))
		sink.Observe(fails(notices, 0))
		pause(10)
		sink.Observe(move(deps, orchestrator.StatusPublished, 0))
		observe(sink, built(edge, 0))
		sink.Observe(move(billing, orchestrator.StatusBuilding, 0))
		pause(7)
		sink.Observe(orchestrator.ReleaseEvent{Release: orchestrator.Release{Status: "packaged"}})
		if err := sink.Close(); err != nil {
			t.Error(err)
		}
	})
	var document any
	if err := json.Unmarshal([]byte(read(t, path)), &document); err != nil {
		t.Fatal(err)
	}
	pretty, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "trace.json", string(pretty)+"\n")
}

// In a lane one image follows the other, and there are no more lanes than images
// that were at work at once.
func TestLanes(t *testing.T) {
	start := time.Unix(0, 0)
	rapid.Check(t, func(t *rapid.T) {
		recorder := &trace{began: start, images: map[graph.ID]*traced{}}
		for i, span := range rapid.SliceOfN(rapid.Custom(drawSpan), 0, 40).Draw(t, "spans") {
			from := start.Add(time.Duration(span[0]))
			recorder.images[graph.ID(rune('a'+i))] = &traced{stage: stage{from: from, to: from.Add(time.Duration(span[1]))}}
		}
		images := recorder.finished(start)
		laid := lanes(images)
		total := 0
		for _, lane := range laid {
			total += len(lane)
			for i := 1; i < len(lane); i++ {
				if lane[i].from.Before(lane[i-1].to) {
					t.Errorf("%v begins before %v has ended", lane[i].stage, lane[i-1].stage)
				}
			}
		}
		if busiest := mostAtOnce(images); total != len(images) || len(laid) > busiest {
			t.Errorf("%d of %d images in %d lanes, want at most %d", total, len(images), len(laid), busiest)
		}
	})
}

func drawSpan(t *rapid.T) [2]int {
	return [2]int{rapid.IntRange(0, 50).Draw(t, "from"), rapid.IntRange(1, 20).Draw(t, "for")}
}

func mostAtOnce(images []*traced) int {
	most := 0
	for _, im := range images {
		n := 0
		for _, other := range images {
			if !other.from.After(im.from) && other.to.After(im.from) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
