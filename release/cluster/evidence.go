package cluster

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Evidence is bounded, in time and in size: it is read by people.
const (
	evidenceTime   = 15 * time.Second
	evidencePods   = 5
	evidenceEvents = 5
	evidenceLines  = 20
	maxLine        = 500
)

// Evidence tells what is known of pods of a manifest that are not ready: events
// of the cluster and the last lines of their logs, a line each. Where something
// cannot be had, a line says so. It takes 15 seconds at most.
func (c *Cluster) Evidence(ctx context.Context, manifest string) []string {
	ctx, cancel := context.WithTimeout(ctx, evidenceTime)
	defer cancel()
	objects, err := Objects(manifest)
	if err != nil {
		return nil // it was applied, so it was read before
	}
	workloads := awaited(objects)
	pods, err := c.unready(ctx, workloads)
	if err != nil {
		return []string{"nothing is known of the pods: " + sentence(err.Error())}
	}
	lines := c.events(ctx, workloads, pods)
	for _, pod := range pods[:min(len(pods), evidencePods)] {
		for _, container := range restless(pod) {
			lines = append(lines, c.lastWords(ctx, pod.Name, container)...)
		}
	}
	return lines
}

// unready are the pods of workloads that are not ready, by name.
func (c *Cluster) unready(ctx context.Context, workloads []*unstructured.Unstructured) ([]*corev1.Pod, error) {
	m, err := c.snapshot(ctx, kinds(workloads))
	if err != nil {
		return nil, err
	}
	v := newView(m, c.Namespace)
	var pods []*corev1.Pod
	for _, object := range workloads {
		pods = append(pods, v.podsOf(object.GetKind(), object.GetName())...)
	}
	pods = slices.DeleteFunc(pods, func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil || isReady(p) })
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods, nil
}

func isReady(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// restless are the containers of a pod that may have something to say.
func restless(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.DeleteFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), func(s corev1.ContainerStatus) bool {
		silent := s.State.Running == nil && s.State.Terminated == nil && s.LastTerminationState.Terminated == nil
		return s.Ready || silent
	})
}

// lastWords are the last lines of a container's log: of the run before where
// the present one has not begun.
func (c *Cluster) lastWords(ctx context.Context, pod string, container corev1.ContainerStatus) []string {
	lines := int64(evidenceLines)
	options := &corev1.PodLogOptions{Container: container.Name, TailLines: &lines, Previous: container.State.Waiting != nil}
	name := "pod " + pod + ", container " + container.Name
	stream, err := c.kube.CoreV1().Pods(c.Namespace).GetLogs(pod, options).Stream(ctx)
	if err != nil {
		return []string{name + ": no log: " + sentence(err.Error())}
	}
	defer stream.Close() //nolint:errcheck // read only
	text, err := io.ReadAll(io.LimitReader(stream, evidenceLines*maxLine))
	if err != nil && len(text) == 0 {
		return []string{name + ": no log: " + sentence(err.Error())}
	}
	var said []string
	for line := range strings.Lines(string(text)) {
		said = append(said, name+": "+clip(line))
	}
	return said
}

// clip is a line of a log without its end, and of bounded length.
func clip(line string) string {
	line = strings.TrimRight(line, "\r\n")
	if len(line) > maxLine {
		line = line[:maxLine] + "…"
	}
	return strings.ToValidUTF8(line, "\uFFFD")
}

// events are what the cluster said of pods and of workloads,
// the last few of each object. Only warnings are told.
func (c *Cluster) events(ctx context.Context, workloads []*unstructured.Unstructured, pods []*corev1.Pod) []string {
	concerned := map[string]bool{}
	for _, object := range workloads {
		concerned[title(object)] = true
	}
	for _, pod := range pods {
		concerned["Pod "+pod.Name] = true
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
			concerned[owner.Kind+" "+owner.Name] = true
		}
	}
	found, err := c.kube.CoreV1().Events(c.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning})
	if err != nil {
		return []string{"no events: " + sentence(err.Error())}
	}
	told := map[string][]corev1.Event{}
	for _, event := range found.Items {
		if of := event.InvolvedObject.Kind + " " + event.InvolvedObject.Name; concerned[of] {
			told[of] = append(told[of], event)
		}
	}
	return inWords(told)
}

// inWords are the last few events of each object.
func inWords(told map[string][]corev1.Event) []string {
	var lines []string
	for _, of := range slices.Sorted(maps.Keys(told)) {
		events := told[of]
		slices.SortStableFunc(events, func(a, b corev1.Event) int { return lastSeen(a).Compare(lastSeen(b)) })
		for _, event := range events[max(0, len(events)-evidenceEvents):] {
			times := ""
			if event.Count > 1 {
				times = fmt.Sprintf(" (%d times)", event.Count)
			}
			lines = append(lines, of+": "+event.Reason+times+": "+sentence(event.Message))
		}
	}
	return lines
}

// lastSeen is when an event happened last, by whichever of its fields is set.
func lastSeen(e corev1.Event) time.Time {
	last := e.LastTimestamp.Time
	if e.EventTime.After(last) {
		last = e.EventTime.Time
	}
	return last
}
