package orchestrator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

func TestParseShard(t *testing.T) {
	if got, err := orchestrator.ParseShard("2/4"); err != nil || got != (orchestrator.ShardOf{I: 2, N: 4}) || got.String() != "2/4" {
		t.Errorf("2/4 is %v, %v", got, err)
	}
	for _, text := range []string{"", "2", "0/4", "5/4", "-1/4", "1/0", "1/257", "a/b", "1/2/3", " 1/2"} {
		if got, err := orchestrator.ParseShard(text); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}

func FuzzParseShard(f *testing.F) {
	for _, seed := range []string{"1/1", "2/4", "256/256", "1/", "/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := orchestrator.ParseShard(text)
		if err != nil {
			return
		}
		if again, err := orchestrator.ParseShard(got.String()); err != nil || again != got || got.I < 1 || got.I > got.N {
			t.Errorf("%q is %v, and that is %v, %v", text, got, again, err)
		}
	})
}

// planned is a plan of units, some of which stand on a dependencies image.
func planned(t *rapid.T) (*orchestrator.Plan, map[graph.ID]time.Duration) {
	plan, costs := &orchestrator.Plan{}, map[graph.ID]time.Duration{}
	var targets []graph.Target
	add := func(id graph.ID, on ...graph.ID) {
		targets = append(targets, graph.Target{ID: id, Dependencies: on})
		plan.Steps = append(plan.Steps, orchestrator.Step{ID: id})
		costs[id] = time.Duration(rapid.IntRange(0, 600).Draw(t, "seconds")) * time.Second
	}
	for i := range rapid.IntRange(0, 40).Draw(t, "units") {
		id := graph.ID(fmt.Sprintf("composition/c%02d", i))
		if rapid.Bool().Draw(t, "stands") {
			below := graph.ID(fmt.Sprintf("dependencies/c%02d", i))
			add(below)
			add(id, below)
			continue
		}
		add(id)
	}
	var err error
	if plan.Graph, err = graph.New(targets); err != nil {
		t.Fatal(err)
	}
	return plan, costs
}

// largest is more than what any image of planned takes with what it stands on.
const largest = 2 * 600 * time.Second

// Whatever the plan, shards take every image once, on every machine
// alike; none has more than a fair share and the largest image besides.
func TestShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan, costs := planned(t)
		n := rapid.IntRange(1, 12).Draw(t, "n")
		shards := plan.Shards(n, costs)
		var taken, want []graph.ID
		total := time.Duration(0)
		for _, shard := range shards {
			taken = append(taken, shard.Images...)
			total += shard.Cost
		}
		for _, s := range plan.Steps {
			if s.ID.Kind() != orchestrator.KindDependencies {
				want = append(want, s.ID)
			}
		}
		slices.Sort(taken)
		slices.Sort(want)
		if !slices.Equal(taken, want) || len(shards) != n {
			t.Fatalf("%d shards take %q, want %q", len(shards), taken, want)
		}
		for i, shard := range plan.Shards(n, costs) {
			if !slices.Equal(shard.Images, shards[i].Images) {
				t.Fatalf("shard %d is %q, and again %q", i, shards[i].Images, shard.Images)
			}
			if fair := total/time.Duration(n) + largest; shard.Cost > fair {
				t.Fatalf("shard %d costs %s of %s, more than %s", i, shard.Cost, total, fair)
			}
		}
	})
}

func TestLongestFirst(t *testing.T) {
	s := newSite(t, shop, installing)
	plan := s.mustPlan()
	costs := map[graph.ID]time.Duration{mail: 5 * time.Second, back: 4 * time.Second, edge: time.Second, dependencies: 2 * time.Second}
	shards := plan.Shards(2, costs)
	if !slices.Equal(shards[0].Images, []graph.ID{mail}) {
		t.Errorf("the first shard has %q", shards[0].Images)
	}
	if !slices.Equal(shards[1].Images, []graph.ID{back, edge}) || shards[1].Cost != 7*time.Second {
		t.Errorf("the second shard has %q at %s: what an image stands on counts for it", shards[1].Images, shards[1].Cost)
	}
	if err := plan.Restrict(nil); err != nil || len(plan.Steps) != 0 {
		t.Errorf("restricted to nothing: %d steps, %v", len(plan.Steps), err)
	}
}

func TestEstimatesAreOfThePlan(t *testing.T) {
	s := newSite(t, shop, installing)
	s.write("components/store.goods/operations/large.js", strings.Repeat("x", 3<<20))
	costs := s.mustPlan().Estimates()
	if costs[mail] >= costs[back] || costs[dependencies] <= costs[edge] {
		t.Errorf("estimates are %v: large files and installed packages take longer", costs)
	}
	plan := s.mustPlan()
	if got, measured := plan.Costs(s.index()); measured || got[back] != costs[back] {
		t.Errorf("without a history: %v, measured %t", got, measured)
	}
	s.build(nil)
	plan = s.mustPlan()
	if plan.Pending(); len(plan.Steps) != 0 {
		t.Errorf("all is published, and %d images are to be built", len(plan.Steps))
	}
}
