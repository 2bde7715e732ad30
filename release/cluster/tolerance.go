package cluster

import "time"

// A state that mends itself now and then is given time; one that cannot is not.
// Whatever is listed here ends the waiting within a minute.
var tolerance = map[string]time.Duration{
	// Somebody has to change something: no time at all.
	"InvalidImageName":         0,
	"ErrImageNeverPull":        0,
	"ProgressDeadlineExceeded": 0,
	reasonFailedJob:            0,
	reasonPaused:               0,
	reasonLost:                 0,
	// Others may be about to make what is missing.
	"CreateContainerConfigError": 10 * time.Second,
	reasonGone:                   10 * time.Second,
	// A registry may hiccup; a kubelet tries again after 10 s.
	"ErrImagePull":          20 * time.Second,
	"ImagePullBackOff":      20 * time.Second,
	"ImageInspectError":     20 * time.Second,
	"RegistryUnavailable":   20 * time.Second,
	"CreateContainerError":  20 * time.Second,
	"RunContainerError":     20 * time.Second,
	"StartError":            20 * time.Second,
	"FailedCreate":          20 * time.Second, // quota, admission: old pods may go
	"CreatePodSandboxError": 30 * time.Second,
	// Processes may end a few times until what they need is there.
	reasonCrashing: 30 * time.Second,
	// Nodes may be added.
	reasonUnschedulable: 45 * time.Second,
}

// calm is how long a trouble must be away to be over: a container that crashes
// runs in between.
const calm = 15 * time.Second

// trouble is a reason that keeps one workload from being ready.
type trouble struct{ workload, reason string }

// spells remember since when each trouble lasts.
type spells map[trouble]spell

type spell struct{ first, last time.Time }

// exhausted notes problems, and tells whether one of them has lasted for too long.
func (s spells) exhausted(problems []Problem, now time.Time) bool {
	over := false
	for _, p := range problems {
		limit, ends := tolerance[p.Reason]
		if !ends {
			continue
		}
		t := trouble{p.Workload, family(p.Reason)}
		seen, ok := s[t]
		if !ok || now.Sub(seen.last) > calm {
			seen.first = now
		}
		seen.last = now
		s[t] = seen
		over = over || now.Sub(seen.first) >= limit
	}
	return over
}

// family is one word for reasons that take turns.
func family(reason string) string {
	if reason == "ErrImagePull" {
		return "ImagePullBackOff"
	}
	return reason
}
