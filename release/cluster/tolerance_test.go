package cluster

import (
	"fmt"
	"testing"
	"time"
)

func TestTroublesEndTheWaitingWithinAMinute(t *testing.T) {
	for reason, limit := range tolerance {
		if limit > 50*time.Second {
			t.Errorf("%s is tolerated for %s, want less than a minute", reason, limit)
		}
	}
}

// seen is a container's reason at second; empty: nothing is wrong.
type seen struct {
	second int
	reason string
}

func TestTolerance(t *testing.T) {
	for _, test := range []struct {
		name  string
		seen  []seen
		gives int // the second at which it ends; -1: never
	}{
		{"what cannot mend itself ends at once", []seen{{0, "InvalidImageName"}}, 0},
		{"a hiccup of the registry is over in time", []seen{{0, "ErrImagePull"}, {10, "ImagePullBackOff"}, {15, ""}, {60, ""}}, -1},
		{"two words for one trouble count together", []seen{{0, "ErrImagePull"}, {5, "ImagePullBackOff"}, {10, "ErrImagePull"}, {20, "ImagePullBackOff"}}, 20},
		{"a container that crashes runs in between", []seen{{0, "CrashLoopBackOff"}, {10, ""}, {12, "CrashLoopBackOff"}, {20, ""}, {30, "CrashLoopBackOff"}}, 30},
		{"a trouble that was away starts anew", []seen{{0, "CrashLoopBackOff"}, {20, ""}, {36, "CrashLoopBackOff"}, {40, "CrashLoopBackOff"}}, -1},
		{"an unknown word ends nothing", []seen{{0, "SomethingNew"}, {3600, "SomethingNew"}}, -1},
		{"nodes are given longer", []seen{{0, "Unschedulable"}, {40, "Unschedulable"}, {45, "Unschedulable"}}, 45},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, start, ended := spells{}, time.Now(), -1
			last := seen{}
			for _, next := range append(test.seen, seen{test.seen[len(test.seen)-1].second, test.seen[len(test.seen)-1].reason}) {
				for second := last.second; second <= next.second && ended < 0; second++ {
					reason := last.reason
					if second == next.second {
						reason = next.reason
					}
					if s.exhausted(problemsOf(reason), start.Add(time.Duration(second)*time.Second)) {
						ended = second
					}
				}
				last = next
			}
			if ended != test.gives {
				t.Errorf("the waiting ended at second %d, want %d", ended, test.gives)
			}
		})
	}
}

func problemsOf(reason string) []Problem {
	if reason == "" {
		return nil
	}
	return []Problem{{Workload: "Deployment edge", Reason: reason}}
}

func TestEachWorkloadHasItsOwnTime(t *testing.T) {
	s, start := spells{}, time.Now()
	for second := range 60 {
		// Every two seconds another workload is in trouble.
		p := Problem{Workload: fmt.Sprint("Deployment ", second/2), Reason: "ImagePullBackOff"}
		if s.exhausted([]Problem{p}, start.Add(time.Duration(second)*time.Second)) {
			t.Fatalf("the waiting ended at second %d", second)
		}
	}
}
