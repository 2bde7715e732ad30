package ui

import (
	"fmt"
	"strings"
	"time"

	"toa.io/toa/orchestrator"
)

const (
	// rolloutTime is how long lines about a rollout in which nothing but numbers
	// moves are apart.
	rolloutTime = 10 * time.Second
	// rolloutNamed is how many workloads a line names.
	rolloutNamed = 3
)

// rollout is how far the workloads of a release are.
type rollout struct {
	workloads []orchestrator.Workload
}

// waiting lists the workloads that are not ready, in their order: those that say
// why first.
func (r rollout) waiting() []orchestrator.Workload {
	var stuck, slow []orchestrator.Workload
	for _, w := range r.workloads {
		switch {
		case w.Ready >= w.Desired && w.Reason == "":
		case w.Reason != "":
			stuck = append(stuck, w)
		default:
			slow = append(slow, w)
		}
	}
	return append(stuck, slow...)
}

// counts says "3 of 5 workloads ready".
func (r rollout) counts() string {
	total := len(r.workloads)
	return fmt.Sprintf("%d of %s ready", total-len(r.waiting()), count(total, "workload"))
}

// line says it all in one line.
func (r rollout) line() string {
	waiting := r.waiting()
	if len(waiting) == 0 {
		return r.counts()
	}
	return r.counts() + "; waiting for " + rollout{waiting}.names()
}

// names lists workloads with how far they are, but only so many.
func (r rollout) names() string {
	var parts []string
	for _, w := range r.workloads[:min(len(r.workloads), rolloutNamed)] {
		parts = append(parts, progress(w))
	}
	if more := len(r.workloads) - rolloutNamed; more > 0 {
		parts = append(parts, count(more, "other"))
	}
	return strings.Join(parts, ", ")
}

// reasons are what keeps workloads from being ready.
func (r rollout) reasons() string {
	var all []string
	for _, w := range r.workloads {
		if w.Reason != "" {
			all = append(all, w.Kind+w.Name+w.Reason)
		}
	}
	return strings.Join(all, "\n")
}

// progress is one workload: "Deployment edge 1/2 (ImagePullBackOff)".
func progress(w orchestrator.Workload) string {
	text := fmt.Sprintf("%s %s %d/%d", Escape(w.Kind), Escape(w.Name), w.Ready, w.Desired)
	if w.Reason != "" {
		text += " (" + Escape(w.Reason) + ")"
	}
	return text
}

// news decides which rollouts are worth a line where lines stay: the first, the
// last, those in which reasons move, and one now and then.
type news struct {
	said    time.Time
	reasons string
	ready   bool
}

// is tells whether a rollout is news, and takes it for said then.
func (n *news) is(r rollout, now time.Time) bool {
	reasons, ready := r.reasons(), len(r.waiting()) == 0
	if reasons == n.reasons && ready == n.ready && now.Sub(n.said) < rolloutTime {
		return false
	}
	*n = news{said: now, reasons: reasons, ready: ready}
	return true
}
