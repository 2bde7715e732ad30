package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"toa.io/toa/graph"
)

// MaxShards is how many jobs one matrix of GitHub may have.
const MaxShards = 256

// ShardOf is one of several machines that share the work: the I-th of N, from 1.
type ShardOf struct{ I, N int }

func (s ShardOf) String() string { return fmt.Sprintf("%d/%d", s.I, s.N) }

// ParseShard reads "I/N".
func ParseShard(text string) (ShardOf, error) {
	left, right, _ := strings.Cut(text, "/")
	i, iErr := strconv.Atoi(left)
	n, nErr := strconv.Atoi(right)
	if iErr != nil || nErr != nil || i < 1 || i > n || n > MaxShards {
		return ShardOf{}, fmt.Errorf("expected I/N with 1 ≤ I ≤ N ≤ %d (2/4), not %q", MaxShards, text)
	}
	return ShardOf{i, n}, nil
}

// Shard is what one machine builds.
type Shard struct {
	// Images are units; what they stand on goes with them.
	Images []graph.ID
	// Cost is how long they take one after the other, as far as that is known.
	Cost time.Duration
}

// Shards shares the images of the plan out among n machines, the longest first
// and each to the one that has the least so far. Equal plans and costs give equal
// shards on every machine; some may be empty.
func (p *Plan) Shards(n int, costs map[graph.ID]time.Duration) []Shard {
	units := p.loads(costs)
	slices.SortFunc(units, func(a, b load) int {
		return cmp.Or(cmp.Compare(b.cost, a.cost), cmp.Compare(a.id, b.id))
	})
	shards := make([]Shard, n)
	for _, u := range units {
		least := &shards[0]
		for i := range shards {
			if shards[i].Cost < least.Cost {
				least = &shards[i]
			}
		}
		least.Images, least.Cost = append(least.Images, u.id), least.Cost+u.cost
	}
	for i := range shards {
		slices.Sort(shards[i].Images)
	}
	return shards
}

// load is a unit with what it stands on.
type load struct {
	id   graph.ID
	cost time.Duration
}

func (p *Plan) loads(costs map[graph.ID]time.Duration) []load {
	present := map[graph.ID]bool{}
	for _, s := range p.Steps {
		present[s.ID] = true
	}
	var loads []load
	for _, s := range p.Steps {
		if s.ID.Kind() == KindDependencies {
			continue
		}
		one := load{s.ID, max(costs[s.ID], time.Millisecond)} // or all that cost nothing would go to one machine
		for _, id := range p.Graph.Dependencies(s.ID) {
			if present[id] {
				one.cost += costs[id]
			}
		}
		loads = append(loads, one)
	}
	return loads
}

// Pending leaves in the plan what is to be built.
func (p *Plan) Pending() {
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool { return s.Cached })
}

// What a build is taken to last where nobody has measured it. Only ratios matter.
const (
	estimatedStart  = time.Second
	estimatedMiB    = 50 * time.Millisecond
	estimatedInside = 30 * time.Second // of npm, or of lines that run in an engine
)

// Estimates are costs made of the plan alone: they are the same on every machine
// that has the same workspace.
func (p *Plan) Estimates() map[graph.ID]time.Duration {
	costs := map[graph.ID]time.Duration{}
	for _, s := range p.Steps {
		cost := estimatedStart
		for _, source := range s.copied() {
			for _, file := range source.Tree.Files() {
				cost += time.Duration(float64(file.Size) / (1 << 20) * float64(estimatedMiB))
			}
		}
		cost += time.Duration(len(s.Recipe.Installs)+len(s.Recipe.Runs)) * estimatedInside
		costs[s.ID] = cost
	}
	return costs
}

// UnpublishedError says that images are not published that should be by now.
type UnpublishedError struct{ Images []graph.ID }

func (e *UnpublishedError) Error() string {
	names := make([]string, len(e.Images))
	for i, id := range e.Images {
		names[i] = string(id)
	}
	return "not published: " + strings.Join(names, ", ")
}

// Hint says how that may have come about.
func (e *UnpublishedError) Hint() string {
	return "a machine of the matrix failed, or they did not share the images out alike: look at their runs, or build the rest with toa graph build"
}

// complete is an error where an image of the plan is not published.
func (p *Plan) complete() error {
	var missing []graph.ID
	for _, s := range p.Steps {
		if !s.Cached {
			missing = append(missing, s.ID)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &UnpublishedError{Images: missing}
}
