package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"toa.io/toa/orchestrator"
)

// NotReadyError is a release of which not all workloads got ready.
type NotReadyError struct {
	// Problems are what kept them, in the order of the manifest.
	Problems []Problem
	// After is how long it was waited for; zero where waiting on was futile.
	After time.Duration
}

func (e *NotReadyError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	text := enumerate(lines, "; ")
	if e.After > 0 {
		return fmt.Sprintf("not ready after %s: %s", e.After, text)
	}
	return text
}

// Hint says where to look, by what is wrong first.
func (e *NotReadyError) Hint() string {
	switch family(e.Problems[0].Reason) {
	case "ImagePullBackOff", "RegistryUnavailable":
		return "the cluster has to reach the registry, and may need registry.credentials to read from it"
	case reasonCrashing, reasonFailedJob:
		return "its last lines say why it ends"
	case reasonUnschedulable:
		return "no node has room for it: lower resources, or add nodes"
	case "FailedCreate":
		return "`kubectl describe resourcequota` shows what is used up"
	case "CreateContainerConfigError":
		return "a secret or ConfigMap that it refers to is missing: `toa conceal` makes secrets"
	}
	if e.After > 0 {
		return "--timeout bounds the waiting"
	}
	return ""
}

// Wait returns when every workload of a rendered manifest is ready, and all its
// pods are of this manifest. It tells how far they are whenever that changed.
// It ends early, with a *NotReadyError, when something is wrong that will not
// mend itself, and with one as well when ctx has a deadline and that is over.
func (c *Cluster) Wait(ctx context.Context, manifest string, observe func([]orchestrator.Workload)) error {
	objects, err := Objects(manifest)
	if err != nil {
		return err
	}
	w := &waiter{namespace: c.Namespace, observe: observe, awaited: awaited(objects), spells: spells{}}
	if len(w.awaited) == 0 {
		return nil
	}
	start := time.Now()
	err = c.follow(ctx, kinds(w.awaited), func(m mirror) (bool, error) { return w.look(m, time.Now()) })
	if errors.Is(err, context.DeadlineExceeded) && len(w.states) > 0 {
		return &NotReadyError{Problems: outstanding(w.states), After: since(start, time.Now())}
	}
	return err
}

// waiter waits for objects.
type waiter struct {
	namespace string
	observe   func([]orchestrator.Workload)
	awaited   []*unstructured.Unstructured
	spells    spells
	states    []state
	told      []orchestrator.Workload
}

// awaited are the objects that take time to get ready.
func awaited(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool {
		_, known := followable[o.GetKind()]
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "type")
		return !known || o.GetKind() == "Service" && kind != string(corev1.ServiceTypeLoadBalancer)
	})
}

// kinds are those to follow: of what is awaited, and pods with what they belong to.
func kinds(awaited []*unstructured.Unstructured) []string {
	kinds := map[string]bool{}
	for _, object := range awaited {
		kinds[object.GetKind()] = true
		switch object.GetKind() {
		case "Deployment":
			kinds["ReplicaSet"], kinds["Pod"] = true, true
		case "StatefulSet", "DaemonSet", "Job":
			kinds["Pod"] = true
		}
	}
	return slices.Sorted(maps.Keys(kinds))
}

// look tells whether everything is ready, or nothing will be.
func (w *waiter) look(m mirror, now time.Time) (done bool, err error) {
	w.states = states(newView(m, w.namespace), w.awaited)
	done = true
	var problems []Problem
	for _, s := range w.states {
		done = done && s.done
		if !s.done {
			problems = append(problems, s.problems...)
		}
	}
	w.tell()
	if !done && w.spells.exhausted(problems, now) {
		return false, &NotReadyError{Problems: problems}
	}
	return done, nil
}

func states(v *view, awaited []*unstructured.Unstructured) []state {
	states := make([]state, len(awaited))
	for i, object := range awaited {
		states[i] = v.look(object.GetKind(), object.GetName())
	}
	return states
}

func workloads(states []state) []orchestrator.Workload {
	workloads := make([]orchestrator.Workload, len(states))
	for i, s := range states {
		workloads[i] = s.Workload
	}
	return workloads
}

// workloads tells how far the workloads of a manifest are at this moment.
func (c *Cluster) workloads(ctx context.Context, manifest string) ([]orchestrator.Workload, error) {
	now, err := c.statesOf(ctx, manifest)
	return workloads(now), err
}

func (c *Cluster) statesOf(ctx context.Context, manifest string) ([]state, error) {
	objects, err := Objects(manifest)
	if err != nil {
		return nil, err
	}
	awaited := awaited(objects)
	m, err := c.snapshot(ctx, kinds(awaited))
	if err != nil {
		return nil, err
	}
	return states(newView(m, c.Namespace), awaited), nil
}

// tell passes on how far the workloads are, if that is news.
func (w *waiter) tell() {
	workloads := workloads(w.states)
	if w.observe != nil && !slices.Equal(workloads, w.told) {
		w.told = workloads
		w.observe(workloads)
	}
}

// outstanding are the problems of what is not done: what is wrong, or how far it is.
func outstanding(states []state) []Problem {
	var problems []Problem
	for _, s := range states {
		switch {
		case s.done:
		case len(s.problems) > 0:
			problems = append(problems, s.problems...)
		default:
			problems = append(problems, Problem{Workload: s.title(), Reason: s.progress()})
		}
	}
	return problems
}
