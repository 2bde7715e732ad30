package main

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestInterleaveTakesTurnsAndDropsTheFirstRound(t *testing.T) {
	var order []string
	program := func(name string) side {
		return side{
			name:    name,
			prepare: func(int) error { order = append(order, name); return nil },
			command: func(int) *exec.Cmd { return exec.Command(os.Args[0], "-test.run=^$") },
		}
	}
	samples, err := interleave(t.Context(), 2, unwatched, program("a"), program("b"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "a", "b", "a", "b"}; !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
	for _, side := range samples {
		if len(side) != 2 {
			t.Errorf("%d samples, want 2", len(side))
		}
		for _, s := range side {
			if s.wall <= 0 || s.rss < 1<<20 || s.requests != -1 {
				t.Errorf("sample %+v, want a time, a process's memory and no registry", s)
			}
		}
	}
}

func TestInterleaveTakesWhatAProgramMeasuredItself(t *testing.T) {
	says := side{name: "timed", timed: true, command: func(int) *exec.Cmd { return exec.Command("echo", "5000 2000 7") }}
	samples, err := interleave(t.Context(), 1, unwatched, says)
	if err != nil {
		t.Fatal(err)
	}
	if s := samples[0][0]; s.wall != 5000 || s.cpu != 2000 || s.requests != 7 {
		t.Errorf("sample %+v, want what was printed", s)
	}
	says.command = func(int) *exec.Cmd { return exec.Command("echo", "soon") }
	if _, err := interleave(t.Context(), 1, unwatched, says); err == nil {
		t.Error("a program that measures nothing is no error")
	}
}

func TestInterleaveTellsWhatAProgramSaid(t *testing.T) {
	fails := side{name: "broken", command: func(int) *exec.Cmd { return exec.Command(os.Args[0], "-test.nonsense") }}
	_, err := interleave(t.Context(), 1, unwatched, fails)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("interleave = %v, want the exit status and what the program said", err)
	}
}

func TestMiddle(t *testing.T) {
	got := middle([]sample{{wall: 3, cpu: 1, rss: 9, requests: 5}, {wall: 1, cpu: 2, rss: 7, requests: 6}, {wall: 2, cpu: 3, rss: 8, requests: 4}})
	if want := (sample{wall: 2, cpu: 2, rss: 8, requests: 5}); got != want {
		t.Errorf("middle = %+v, want %+v", got, want)
	}
}

func TestTableRow(t *testing.T) {
	peer := figures{"git status", sample{wall: 40 * time.Millisecond, cpu: 50 * time.Millisecond, rss: 34 << 20, requests: -1}}
	for name, c := range map[string]struct {
		ours   sample
		target target
		want   string
	}{
		"reached": {
			sample{wall: 20 * time.Millisecond, cpu: 1500 * time.Millisecond, rss: 10 << 20, requests: -1},
			target{ratio: 1, rss: 60 << 20},
			"| case | toa: 20.0 ms, CPU 1500 ms, 10 MiB | git status: 40.0 ms, CPU 50.0 ms, 34 MiB | 0.50 | ≤ 1.0 ×, ≤ 60 MiB | reached |\n",
		},
		"short of all": {
			sample{wall: 50 * time.Millisecond, rss: 61 << 20, requests: 7},
			target{ratio: 1, rss: 60 << 20, requests: 6},
			"| case | toa: 50.0 ms, CPU 0.0 ms, 61 MiB, 7 requests | git status: 40.0 ms, CPU 50.0 ms, 34 MiB | 1.25 | ≤ 1.0 ×, ≤ 60 MiB, ≤ 6 requests | **short**: time, memory, requests |\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tableRow("case", figures{"toa", c.ours}, peer, c.target); got != c.want {
				t.Errorf("tableRow =\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestLastEvent(t *testing.T) {
	for name, c := range map[string]struct {
		output string
		cached int
		fails  bool
	}{
		"a summary":     {"{\"event\":\"plan\",\"images\":[{}]}\n{\"event\":\"summary\",\"ok\":true,\"images\":{\"total\":4,\"cached\":4},\"registryRequests\":0}\n", 4, false},
		"another event": {"{\"event\":\"plan\"}\n", 0, true},
		"nothing":       {"", 0, true},
		"no JSON":       {"toa: no\n", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := lastEvent(strings.NewReader(c.output))
			if (err != nil) != c.fails || s.Images.Cached != c.cached {
				t.Errorf("lastEvent = %+v, %v", s, err)
			}
		})
	}
}
