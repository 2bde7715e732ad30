package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"toa.io/toa/orchestrator"
)

// rolling is a release of n workloads of two pods, of which the first ready ones
// are ready.
func rolling(ready, n int, reason string) orchestrator.RolloutEvent {
	var e orchestrator.RolloutEvent
	for i := range n {
		w := orchestrator.Workload{Kind: "Deployment", Name: "composition-" + string(rune('a'+i)), Desired: 2}
		if i < ready {
			w.Ready = 2
		} else if i == n-1 {
			w.Reason = reason
		}
		e.Workloads = append(e.Workloads, w)
	}
	return e
}

func TestRolloutLine(t *testing.T) {
	for want, e := range map[string]orchestrator.RolloutEvent{
		"3 of 3 workloads ready": rolling(3, 3, ""),
		"0 of 1 workload ready; waiting for Deployment composition-a 0/2":                                                                                   rolling(0, 1, ""),
		"1 of 3 workloads ready; waiting for Deployment composition-c 0/2 (ImagePullBackOff), Deployment composition-b 0/2":                                 rolling(1, 3, "ImagePullBackOff"),
		"0 of 5 workloads ready; waiting for Deployment composition-e 0/2 (\\x1b[2J), Deployment composition-a 0/2, Deployment composition-b 0/2, 2 others": rolling(0, 5, "\x1b[2J"),
	} {
		if got := (rollout{e.Workloads}).line(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A log gets the first line, each new reason, the end, and otherwise one now and
// then, however often numbers move.
func TestRolloutNews(t *testing.T) {
	var n news
	now := time.Unix(1000, 0)
	for i, row := range []struct {
		after time.Duration
		e     orchestrator.RolloutEvent
		want  bool
	}{
		{0, rolling(0, 3, ""), true},
		{time.Second, rolling(1, 3, ""), false},
		{time.Second, rolling(1, 3, "ErrImagePull"), true},
		{time.Second, rolling(1, 3, "ErrImagePull"), false},
		{time.Second, rolling(1, 3, ""), true},
		{rolloutTime, rolling(2, 3, ""), true},
		{time.Second, rolling(3, 3, ""), true},
		{time.Second, rolling(3, 3, ""), false},
	} {
		now = now.Add(row.after)
		if got := n.is(rollout{row.e.Workloads}, now); got != row.want {
			t.Errorf("event %d is news: %t", i, got)
		}
	}
}

// applied are the last events of a run that ends with a release in a cluster.
func applied(err error) []orchestrator.Event {
	release := orchestrator.Release{Status: "applied", Revision: 4, Namespace: "shop", Server: "https://cluster.test"}
	if err != nil {
		release.Status = "failed"
	}
	return []orchestrator.Event{
		orchestrator.NoticeEvent{Text: "releasing shop to https://cluster.test namespace shop"},
		rolling(1, 3, "ImagePullBackOff"),
		orchestrator.ReleaseEvent{Release: release},
		orchestrator.SummaryEvent{Summary: orchestrator.Summary{OK: err == nil, Err: err, Release: release}},
	}
}

func TestPlainRollout(t *testing.T) {
	var stdout, stderr bytes.Buffer
	sink := newPlain(&stdout, &stderr)
	observe(sink, applied(nil))
	for _, want := range []string{
		"notice: releasing shop to https://cluster.test namespace shop\n",
		"rollout: 1 of 3 workloads ready; waiting for Deployment composition-c 0/2 (ImagePullBackOff), Deployment composition-b 0/2\n",
		"release: applied  revision 4  in shop  at https://cluster.test\n",
	} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("no %q in\n%s", want, stderr.String())
		}
	}
}

func TestJSONRollout(t *testing.T) {
	var stdout bytes.Buffer
	observe(newEvents(&stdout), applied(nil))
	var kinds []string
	for line := range strings.Lines(stdout.String()) {
		var e struct {
			Event     string
			Workloads []orchestrator.Workload
			Server    string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, e.Event)
		if e.Event == "rollout" && (len(e.Workloads) != 3 || e.Workloads[2].Reason != "ImagePullBackOff") {
			t.Errorf("rollout is %s", line)
		}
		if e.Event == "release" && e.Server != "https://cluster.test" {
			t.Errorf("release is %s", line)
		}
	}
	if got := strings.Join(kinds, " "); got != "notice rollout release summary" {
		t.Errorf("events are %s", got)
	}
}

func TestReportNamesWhatIsNotReady(t *testing.T) {
	b := newBoard()
	for _, e := range applied(errors.New("release: not ready")) {
		b.apply(e)
	}
	got := markdown(b)
	for _, want := range []string{"Release **failed**", "at `https://cluster.test`", "Not ready: Deployment composition-c 0/2 (ImagePullBackOff)"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// The terminal shows those that are waited for, however small it is.
func TestLiveRollout(t *testing.T) {
	for high := 1; high <= 8; high++ {
		l := &live{board: newBoard(), began: time.Now()}
		l.board.apply(rolling(1, 4, "ErrImagePull"))
		rows := l.rows(80, high)
		if len(rows) == 0 || len(rows) > high {
			t.Errorf("%d rows on a terminal of %d", len(rows), high)
		}
		var text []string
		for _, row := range rows {
			var words strings.Builder
			for _, s := range row {
				words.WriteString(s.text)
			}
			text = append(text, words.String())
		}
		if shown := strings.Join(text, "\n"); !strings.Contains(shown, "1 of 4 workloads ready") ||
			high > 2 && !strings.Contains(shown, "Deployment composition-d  0/2  ErrImagePull") {
			t.Errorf("a terminal of %d rows shows\n%s", high, shown)
		}
	}
}
