package orchestrator

import (
	"maps"
	"slices"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/graph"
)

// History remembers how long rebuilds took. Images that are built because
// something changed find most of their layers, so they are not compared.
type History interface {
	// Past are the durations of earlier rebuilds of each, the latest last.
	Past(of []cache.Timing) [][]time.Duration
	// Took remembers one more of each. What is not kept is not missed.
	Took(timings []cache.Timing) error
}

const (
	// slowShare is by how much a rebuild has to exceed the median to count as slower.
	slowShare = 0.25
	// slowLeast is what it has to exceed it by besides: less is noise.
	slowLeast = 500 * time.Millisecond
	// slowRuns is how many earlier runs it takes to say so.
	slowRuns = 3
)

// Pace is how long a rebuild took, against earlier ones.
type Pace struct {
	ID   graph.ID
	Took time.Duration
	// Median is that of the last Runs rebuilds; zero where Runs is.
	Median time.Duration
	Runs   int
}

// Slower tells whether the rebuild took more than 25 % longer than the median
// of at least three earlier ones, and half a second at the least.
func (p Pace) Slower() bool {
	more := p.Took - p.Median
	return p.Runs >= slowRuns && more >= slowLeast && float64(more) > slowShare*float64(p.Median)
}

// Median is the middle one, the lower of two; zero of none.
func Median(durations []time.Duration) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[(len(sorted)-1)/2]
}

// paces compares the rebuilds of the run with earlier ones, and remembers them.
func (r *run) paces() []Pace {
	took := r.ledger.durations()
	if r.History == nil || len(took) == 0 {
		return nil
	}
	var timings []cache.Timing
	for _, s := range r.plan.Steps {
		if d, ok := took[s.ID]; ok {
			timing := r.plan.timing(s)
			timing.Took = d
			timings = append(timings, timing)
		}
	}
	past := r.History.Past(timings)
	paces := make([]Pace, len(timings))
	for i, t := range timings {
		paces[i] = Pace{ID: graph.ID(t.Target), Took: t.Took, Median: Median(past[i]), Runs: len(past[i])}
	}
	_ = r.History.Took(timings) // the next run has fewer to compare with
	return paces
}

// timing is the place of a step's durations.
func (p *Plan) timing(s Step) cache.Timing {
	return cache.Timing{Registry: RegistryHost(p.Registry), Repository: s.Reference.Repository, Target: string(s.ID)}
}

// Costs are the median durations of earlier rebuilds. An image of which none is
// known counts as the median of the others; where nothing is known at all they
// are Estimates, and measured is false.
func (p *Plan) Costs(h History) (costs map[graph.ID]time.Duration, measured bool) {
	timings := make([]cache.Timing, len(p.Steps))
	for i, s := range p.Steps {
		timings[i] = p.timing(s)
	}
	costs = map[graph.ID]time.Duration{}
	for i, past := range h.Past(timings) {
		if len(past) > 0 {
			costs[p.Steps[i].ID] = Median(past)
		}
	}
	if len(costs) == 0 {
		return p.Estimates(), false
	}
	middle := Median(slices.Collect(maps.Values(costs)))
	for _, s := range p.Steps {
		if _, known := costs[s.ID]; !known {
			costs[s.ID] = middle
		}
	}
	return costs, true
}
