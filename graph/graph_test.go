package graph_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"toa.io/toa/graph"
)

// targets reads "a: b c" lines.
func targets(lines ...string) []graph.Target {
	var all []graph.Target
	for _, line := range lines {
		id, needs, _ := strings.Cut(line, ":")
		t := graph.Target{ID: graph.ID(id)}
		for _, need := range strings.Fields(needs) {
			t.Dependencies = append(t.Dependencies, graph.ID(need))
		}
		all = append(all, t)
	}
	return all
}

func TestID(t *testing.T) {
	id := graph.NewID("composition", "edge")
	if id != "composition/edge" || id.Kind() != "composition" || id.Name() != "edge" {
		t.Errorf("%s: kind %q, name %q", id, id.Kind(), id.Name())
	}
	if id := graph.ID("mono"); id.Kind() != "mono" || id.Name() != "" {
		t.Errorf("%s: kind %q, name %q", id, id.Kind(), id.Name())
	}
}

func TestNewRefuses(t *testing.T) {
	tests := map[string]struct {
		lines []string
		want  string
	}{
		"a cycle":                    {[]string{"a: b", "b: c", "c: b", "d: a"}, "dependency cycle: b → c → b"},
		"a target that needs itself": {[]string{"a: a"}, "dependency cycle: a → a"},
		"an unknown target":          {[]string{"a: b"}, "a needs b, which does not exist"},
		"two of one name":            {[]string{"a", "b", "a"}, "two targets are called a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := graph.New(targets(test.lines...)); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestGraphAnswers(t *testing.T) {
	g, err := graph.New(targets("top: left right", "left: base", "right: base", "base", "alone"))
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, target := range g.Targets() {
		order = append(order, string(target.ID))
	}
	if got, want := strings.Join(order, " "), "alone base left right top"; got != want {
		t.Errorf("order %q, want %q", got, want)
	}
	if got := g.Dependents("base"); !slices.Equal(got, []graph.ID{"left", "right"}) {
		t.Errorf("Dependents = %q", got)
	}
	if got := g.Dependencies("top"); !slices.Equal(got, []graph.ID{"left", "right"}) {
		t.Errorf("Dependencies = %q", got)
	}
	if g.Len() != 5 || !g.Has("top") || g.Has("nothing") || g.Dependents("nothing") != nil || g.Dependencies("nothing") != nil {
		t.Error("wrong about what there is")
	}
}

// Any set of targets either is a graph whose order respects every dependency,
// whatever the order it was given in, or names a cycle that is one.
func TestOrderOrCycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(t, "n")
		var all []graph.Target
		needs := map[graph.ID][]graph.ID{}
		for i := range n {
			target := graph.Target{ID: graph.ID(fmt.Sprint("t", i))}
			for _, j := range rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, 2, rapid.ID).Draw(t, "needs") {
				target.Dependencies = append(target.Dependencies, graph.ID(fmt.Sprint("t", j)))
			}
			all = append(all, target)
			needs[target.ID] = target.Dependencies
		}
		g, err := graph.New(all)
		var cycle *graph.CycleError
		if errors.As(err, &cycle) {
			checkCycle(t, cycle.Path, needs)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		seen := map[graph.ID]bool{}
		for _, target := range g.Targets() {
			for _, need := range target.Dependencies {
				if !seen[need] {
					t.Fatalf("%s stands before %s, which it needs", target.ID, need)
				}
			}
			seen[target.ID] = true
		}
		again, err := graph.New(rapid.Permutation(all).Draw(t, "shuffled"))
		if err != nil || !slices.EqualFunc(g.Targets(), again.Targets(), func(a, b graph.Target) bool { return a.ID == b.ID }) {
			t.Fatalf("another order of the same targets gives another graph: %v", err)
		}
	})
}

func checkCycle(t *rapid.T, path []graph.ID, needs map[graph.ID][]graph.ID) {
	if len(path) < 2 || path[0] != path[len(path)-1] {
		t.Fatalf("no cycle: %q", path)
	}
	for i := range path[1:] {
		if !slices.Contains(needs[path[i]], path[i+1]) {
			t.Fatalf("%s does not need %s: %q", path[i], path[i+1], path)
		}
	}
}
