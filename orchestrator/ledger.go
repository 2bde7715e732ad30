package orchestrator

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"toa.io/toa/graph"
)

// ledger keeps where each image stands and passes it on as events, in order.
type ledger struct {
	observe Observe

	mu       sync.Mutex // guards the rest, and keeps the events of an image in order
	status   map[graph.ID]string
	failures map[graph.ID]error
}

func newLedger(observe Observe) *ledger {
	return &ledger{observe: observe, status: map[graph.ID]string{}, failures: map[graph.ID]error{}}
}

func (l *ledger) note(s Step, status string, err error, elapsed time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status[s.ID] = status
	if err != nil {
		l.failures[s.ID] = err
	}
	l.observe.send(ImageEvent{ID: s.ID, Status: status, Reference: s.Reference, Reason: s.Reason, Elapsed: elapsed, Err: err})
}

// summary counts where the images of the plan ended. Those that were still
// queued or under way when the run stopped count as skipped.
func (l *ledger) summary(plan *Plan) Summary {
	s := Summary{Total: len(plan.Steps), References: map[graph.ID]Reference{}, Failures: l.failures}
	for _, step := range plan.Steps {
		switch l.status[step.ID] {
		case StatusCached:
			s.Cached++
		case StatusPublished:
			s.Built++
		case StatusFailed:
			s.Failed++
		default:
			s.Skipped++
		}
		if step.Reference.Digest != "" {
			s.References[step.ID] = step.Reference
		}
	}
	return s
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
