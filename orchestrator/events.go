package orchestrator

import (
	"time"

	"toa.io/toa/graph"
)

// Event is something that happened: one of the types below. How it looks is
// the business of the sink.
type Event interface{ event() }

// Status of an image.
const (
	StatusCached     = "cached"
	StatusQueued     = "queued"
	StatusBuilding   = "building"
	StatusBuilt      = "built"
	StatusPublishing = "publishing"
	StatusPublished  = "published"
	StatusFailed     = "failed"
	// StatusSkipped is an image that was not tried because one it needs failed
	// or the run was stopped.
	StatusSkipped = "skipped"
)

type (
	// PlanEvent comes once, before any image.
	PlanEvent struct{ Plan *Plan }
	// ImageEvent tells where an image is. Events of one image come in order.
	ImageEvent struct {
		ID        graph.ID
		Status    string
		Reference Reference
		Reason    string
		// Elapsed is since the image left the queue.
		Elapsed time.Duration
		// Err is set when Status is StatusFailed.
		Err error
	}
	// LogEvent is a line of output of a child that builds an image.
	LogEvent struct {
		ID     graph.ID
		Stream string
		Text   string
	}
	// RolloutEvent tells how far the workloads of a release are.
	RolloutEvent struct{ Workloads []Workload }
	// ReleaseEvent comes once, after the last image.
	ReleaseEvent struct{ Release Release }
	// AuditEvent tells what the audit of an image has found.
	AuditEvent struct{ Finding Finding }
	// NoticeEvent is something a person should know that stops nothing.
	NoticeEvent struct{ Text string }
	// SummaryEvent is always last.
	SummaryEvent struct{ Summary Summary }
)

func (PlanEvent) event()    {}
func (ImageEvent) event()   {}
func (LogEvent) event()     {}
func (RolloutEvent) event() {}
func (ReleaseEvent) event() {}
func (AuditEvent) event()   {}
func (NoticeEvent) event()  {}
func (SummaryEvent) event() {}

// Workload is one object of a release that pods run for.
type Workload struct {
	// Kind is Kubernetes' own: "Deployment".
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Ready and Desired count pods.
	Ready   int `json:"ready"`
	Desired int `json:"desired"`
	// Reason says what keeps it from being ready, if that is known.
	Reason string `json:"reason,omitempty"`
}

// Observe takes events. It may be nil; calls may overlap.
type Observe func(Event)

func (o Observe) send(e Event) {
	if o != nil {
		o(e)
	}
}

// Summary is how a run ended.
type Summary struct {
	OK                           bool
	Total, Cached, Built, Failed int
	// Skipped images were not tried.
	Skipped          int
	RegistryRequests int64
	BytesPushed      int64
	// References are the published images that a release would run (and the
	// dependencies images of this run), by ID.
	References map[graph.ID]Reference
	// Failures are the errors of failed images, by ID.
	Failures map[graph.ID]error
	// Findings are those of the audit, by ID.
	Findings []Finding
	// Paces are how long rebuilds took, in the order of the plan.
	Paces   []Pace
	Release Release
	Elapsed time.Duration
	// Err is what stopped the run, nil when OK.
	Err error
}
