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
	audited  map[graph.ID]Finding
	took     map[graph.ID]time.Duration // of rebuilds
}

func newLedger(observe Observe) *ledger {
	return &ledger{
		observe: observe, status: map[graph.ID]string{}, failures: map[graph.ID]error{},
		audited: map[graph.ID]Finding{}, took: map[graph.ID]time.Duration{},
	}
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

// built notes that an image is made, and how long that took if it was made anew.
func (l *ledger) built(s Step, elapsed time.Duration) {
	l.note(s, StatusBuilt, nil, elapsed)
	if s.Anew {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.took[s.ID] = elapsed
	}
}

func (l *ledger) durations() map[graph.ID]time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.took)
}

// found keeps what the audit says of an image, and passes it on.
func (l *ledger) found(f Finding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.audited[f.ID] = f
	l.observe.send(AuditEvent{Finding: f})
}

// findings are those of the audit, by ID.
func (l *ledger) findings() []Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Finding
	for _, id := range sortedKeys(l.audited) {
		all = append(all, l.audited[id])
	}
	return all
}

// trusts tells whether what is published of an image may be recorded: not while
// there is a doubt about which of two it is.
func (l *ledger) trusts(id graph.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.audited[id]
	return !f.Verdict.Condemns() || f.Rebuilt == f.Published
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
