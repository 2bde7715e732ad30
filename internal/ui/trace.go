package ui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

// trace records when what happened and writes it as Chrome trace events, which
// Perfetto and chrome://tracing show: one track for the stages of the run, and
// one for each lane of concurrency.
type trace struct {
	mu     sync.Mutex // guards all below
	file   io.WriteCloser
	began  time.Time
	stages []stage
	images map[graph.ID]*traced
	why    map[graph.ID]string // as planned
	ended  bool
	err    error
}

// stage is something that lasted.
type stage struct {
	name     string
	from, to time.Time
	args     map[string]string
}

// traced is one image with its phases, in the order in which they began.
type traced struct {
	stage
	phases []stage
}

// CreateTrace makes a sink that writes a trace to path when it is closed.
func CreateTrace(path string) (Sink, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("open trace: %w", err)
	}
	return &trace{file: file, began: time.Now(), images: map[graph.ID]*traced{}, why: map[graph.ID]string{}}, nil
}

func (t *trace) Observe(event orchestrator.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	switch e := event.(type) {
	case orchestrator.PlanEvent:
		t.stage("plan", nil)
		for _, step := range e.Plan.Steps {
			t.why[step.ID] = step.Reason
		}
	case orchestrator.ImageEvent:
		t.image(e)
	case orchestrator.ReleaseEvent:
		if len(t.images) > 0 {
			t.stages = append(t.stages, stage{name: "images", from: t.last(), to: t.lastImage()})
		}
		t.stage("release", map[string]string{"status": e.Release.Status})
	case orchestrator.SummaryEvent:
		t.ended = true
	}
}

// stage ends what began with the end of the stage before.
func (t *trace) stage(name string, args map[string]string) {
	t.stages = append(t.stages, stage{name: name, from: t.last(), to: time.Now(), args: args})
}

func (t *trace) last() time.Time {
	if len(t.stages) == 0 {
		return t.began
	}
	return t.stages[len(t.stages)-1].to
}

func (t *trace) lastImage() time.Time {
	last := t.last()
	for _, im := range t.images {
		if im.to.After(last) {
			last = im.to
		}
	}
	return last
}

func (t *trace) image(e orchestrator.ImageEvent) {
	now := time.Now()
	im := t.images[e.ID]
	switch e.Status {
	case orchestrator.StatusBuilding, orchestrator.StatusPublishing:
		if im == nil {
			im = &traced{stage: stage{name: string(e.ID), from: now}}
			t.images[e.ID] = im
		}
		im.endPhase(now)
		im.phases = append(im.phases, stage{name: e.Status, from: now})
	case orchestrator.StatusBuilt, orchestrator.StatusPublished, orchestrator.StatusFailed:
		if im == nil {
			return
		}
		im.endPhase(now)
	default:
		return
	}
	im.to = now
	im.args = map[string]string{"status": e.Status, "reason": cmp.Or(e.Reason, im.args["reason"], t.why[e.ID])}
}

func (im *traced) endPhase(now time.Time) {
	if n := len(im.phases); n > 0 && im.phases[n-1].to.IsZero() {
		im.phases[n-1].to = now
	}
}

func (t *trace) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return t.err
	}
	t.ended = true
	err := json.NewEncoder(t.file).Encode(t.document(time.Now()))
	if closed := t.file.Close(); err == nil {
		err = closed
	}
	t.file = nil
	if err != nil {
		t.err = fmt.Errorf("write trace: %w", err)
	}
	return t.err
}

type (
	traceDocument struct {
		Events []traceEvent `json:"traceEvents"`
		Unit   string       `json:"displayTimeUnit"`
	}
	// traceEvent has times in microseconds since the run began.
	traceEvent struct {
		Name     string            `json:"name"`
		Category string            `json:"cat,omitempty"`
		Phase    string            `json:"ph"`
		Time     int64             `json:"ts"`
		Duration *int64            `json:"dur,omitempty"`
		Process  int               `json:"pid"`
		Thread   int               `json:"tid"`
		Args     map[string]string `json:"args,omitempty"`
	}
)

func (t *trace) document(end time.Time) traceDocument {
	events := []traceEvent{named("process_name", 0, "toa"), named("thread_name", 0, "run")}
	for _, s := range t.stages {
		events = append(events, t.event(s, "stage", 0))
	}
	for i, lane := range lanes(t.finished(end)) {
		thread := i + 1
		events = append(events, named("thread_name", thread, fmt.Sprintf("lane %d", thread)))
		for _, im := range lane {
			events = append(events, t.event(im.stage, "image", thread))
			for _, phase := range im.phases {
				events = append(events, t.event(phase, "phase", thread))
			}
		}
	}
	return traceDocument{Events: events, Unit: "ms"}
}

// finished lists the images by their beginning; what is still open ends now.
func (t *trace) finished(end time.Time) []*traced {
	var list []*traced
	for _, im := range t.images {
		if n := len(im.phases); n > 0 && im.phases[n-1].to.IsZero() {
			im.to = end
		}
		im.endPhase(end)
		list = append(list, im)
	}
	slices.SortFunc(list, func(a, b *traced) int {
		return cmp.Or(a.from.Compare(b.from), cmp.Compare(a.name, b.name))
	})
	return list
}

// lanes puts images, sorted by their beginning, into as few lanes as were busy
// at the same time.
func lanes(images []*traced) [][]*traced {
	var lanes [][]*traced
	for _, im := range images {
		free := slices.IndexFunc(lanes, func(lane []*traced) bool {
			return !lane[len(lane)-1].to.After(im.from)
		})
		if free < 0 {
			free = len(lanes)
			lanes = append(lanes, nil)
		}
		lanes[free] = append(lanes[free], im)
	}
	return lanes
}

func (t *trace) event(s stage, category string, thread int) traceEvent {
	duration := max(s.to.Sub(s.from).Microseconds(), 0)
	return traceEvent{
		Name:     s.name,
		Category: category,
		Phase:    "X",
		Time:     s.from.Sub(t.began).Microseconds(),
		Duration: &duration,
		Process:  1,
		Thread:   thread,
		Args:     s.args,
	}
}

func named(what string, thread int, name string) traceEvent {
	return traceEvent{Name: what, Phase: "M", Process: 1, Thread: thread, Args: map[string]string{"name": name}}
}
