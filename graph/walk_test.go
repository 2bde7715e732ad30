package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"toa.io/toa/graph"
)

func newGraph(t *testing.T, lines ...string) *graph.Graph {
	t.Helper()
	g, err := graph.New(targets(lines...))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// diary notes in fake time who began and who ended when.
type diary struct {
	mu    sync.Mutex
	start time.Time
	lines []string
}

func (d *diary) note(id graph.ID, what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf("%v %s %s", time.Since(d.start), id, what))
}

// settle puts what happens at one moment, which may come in any order, into
// one: ends first, then by name.
func (d *diary) settle() {
	rank := func(line string) string {
		moment, rest, _ := strings.Cut(line, " ")
		id, what, _ := strings.Cut(rest, " ")
		return fmt.Sprintf("%10s %v %s", moment, what == "begins", id)
	}
	slices.SortFunc(d.lines, func(a, b string) int { return strings.Compare(rank(a), rank(b)) })
}

func TestWalkSchedule(t *testing.T) {
	tests := map[string]struct {
		limit int
		lines []string
		took  map[graph.ID]time.Duration
		want  string
	}{
		"the longest path first": {
			limit: 1, lines: []string{"a", "z", "top: z"},
			want: "0s z begins, 1s z ends, 1s a begins, 2s a ends, 2s top begins, 3s top ends",
		},
		"at most limit at a time": {
			limit: 2, lines: []string{"a", "b", "c"}, took: map[graph.ID]time.Duration{"b": 3 * time.Second},
			want: "0s a begins, 0s b begins, 1s a ends, 1s c begins, 2s c ends, 3s b ends",
		},
		"dependents as soon as they can": {
			limit: 4, lines: []string{"a", "b", "on-a: a"}, took: map[graph.ID]time.Duration{"b": 5 * time.Second},
			want: "0s a begins, 0s b begins, 1s a ends, 1s on-a begins, 2s on-a ends, 5s b ends",
		},
		"no limit is one": {limit: 0, lines: []string{"a", "b"}, want: "0s a begins, 1s a ends, 1s b begins, 2s b ends"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &diary{start: time.Now()}
				_, err := graph.Walk(t.Context(), newGraph(t, test.lines...), test.limit, func(_ context.Context, target graph.Target, _ []int) (int, error) {
					d.note(target.ID, "begins")
					time.Sleep(max(test.took[target.ID], time.Second))
					d.note(target.ID, "ends")
					return 0, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				d.settle()
				if got := strings.Join(d.lines, ", "); got != test.want {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
			})
		})
	}
}

func TestWalkHandsResultsOn(t *testing.T) {
	g := newGraph(t, "top: left right", "left: base", "right: base", "base")
	results, err := graph.Walk(t.Context(), g, 4, func(_ context.Context, target graph.Target, deps []string) (string, error) {
		return string(target.ID) + "(" + strings.Join(deps, " ") + ")", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := results[3], "top(left(base()) right(base()))"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFirstErrorStopsTheWalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		var ended, begun []graph.ID
		var mu sync.Mutex
		_, err := graph.Walk(t.Context(), newGraph(t, "a", "b", "c: a", "d"), 2, func(ctx context.Context, target graph.Target, _ []int) (int, error) {
			mu.Lock()
			begun = append(begun, target.ID)
			mu.Unlock()
			if target.ID == "a" {
				time.Sleep(time.Second)
				return 0, broken
			}
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), broken) {
				t.Errorf("cause is %v", context.Cause(ctx))
			}
			time.Sleep(time.Minute) // it takes its time to end
			mu.Lock()
			ended = append(ended, target.ID)
			mu.Unlock()
			return 0, context.Cause(ctx)
		})
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		if len(begun) != 2 || len(ended) != 1 {
			t.Errorf("begun %q, ended %q when Walk returned", begun, ended)
		}
	})
}

func TestCancelledWalkBeginsNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	_, err := graph.Walk(ctx, newGraph(t, "a"), 1, func(context.Context, graph.Target, []int) (int, error) {
		t.Error("a visit began")
		return 0, nil
	})
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// Every target is visited once, after what it needs, at most limit at a time.
func TestWalkVisitsAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(rt, "n")
		var all []graph.Target
		for i := range n {
			target := graph.Target{ID: graph.ID(fmt.Sprintf("t%02d", i))}
			for j := range i {
				if rapid.IntRange(0, 4).Draw(rt, "edge") == 0 {
					target.Dependencies = append(target.Dependencies, all[j].ID)
				}
			}
			all = append(all, target)
		}
		g, err := graph.New(all)
		if err != nil {
			rt.Fatal(err)
		}
		limit := rapid.IntRange(1, 5).Draw(rt, "limit")
		var mu sync.Mutex
		done, running := map[graph.ID]bool{}, 0
		_, err = graph.Walk(t.Context(), g, limit, func(_ context.Context, target graph.Target, _ []int) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			if running++; running > limit || done[target.ID] {
				t.Errorf("%s: %d running, limit %d, visited before: %t", target.ID, running, limit, done[target.ID])
			}
			for _, need := range target.Dependencies {
				if !done[need] {
					t.Errorf("%s before %s", target.ID, need)
				}
			}
			mu.Unlock()
			mu.Lock()
			running--
			done[target.ID] = true
			return 0, nil
		})
		if err != nil || len(done) != n {
			rt.Fatalf("%v, visited %d of %d", err, len(done), n)
		}
	})
}
