package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"toa.io/toa/orchestrator"
)

// podMark begins the keys of labels that pods of toa carry.
const podMark = "toa/"

// DrainError says that old pods were still there when the time was over.
type DrainError struct {
	// Pods is how many.
	Pods  int
	After time.Duration
}

func (e *DrainError) Error() string {
	if e.Pods == 1 {
		return fmt.Sprintf("1 old pod is still ending after %s", e.After)
	}
	return fmt.Sprintf("%d old pods are still ending after %s", e.Pods, e.After)
}

// Hint says what that means.
func (e *DrainError) Hint() string {
	return "the release is in place; pods end when their processes do, at the latest after terminationGracePeriodSeconds"
}

// Drain returns when no pod of toa in the namespace is on its way out: until
// then some still serve what they did before. It tells which are left whenever
// that changed. When the deadline of ctx is over the error is a *DrainError.
func (c *Cluster) Drain(ctx context.Context, observe func([]orchestrator.Workload)) error {
	var left []orchestrator.Workload
	start := time.Now()
	err := c.follow(ctx, []string{"Pod"}, func(m mirror) (bool, error) {
		now := ending(all[corev1.Pod](m, "Pod"))
		if observe != nil && !slices.Equal(now, left) {
			observe(now)
		}
		left = now
		return len(left) == 0, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && len(left) > 0 {
		return &DrainError{Pods: len(left), After: since(start, time.Now())}
	}
	return err
}

// ending are the pods of toa that are on their way out, by name. None of them
// is wanted any more.
func ending(pods []*corev1.Pod) []orchestrator.Workload {
	var left []orchestrator.Workload
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil && isOurs(pod) {
			left = append(left, orchestrator.Workload{Kind: "Pod", Name: pod.Name, Reason: "Terminating"})
		}
	}
	slices.SortFunc(left, func(a, b orchestrator.Workload) int { return cmp.Compare(a.Name, b.Name) })
	return left
}

func isOurs(pod *corev1.Pod) bool {
	for key := range pod.Labels {
		if strings.HasPrefix(key, podMark) {
			return true
		}
	}
	return false
}
