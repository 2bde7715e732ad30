package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// status is what a pod looks like from outside.
func (l *life) status(pod *corev1.Pod, now time.Time) corev1.PodStatus {
	s := corev1.PodStatus{
		ObservedGeneration:    pod.Generation,
		StartTime:             &l.began,
		HostIP:                "127.0.0.1",
		HostIPs:               []corev1.HostIP{{IP: "127.0.0.1"}},
		PodIP:                 l.address,
		PodIPs:                []corev1.PodIP{{IP: l.address}},
		InitContainerStatuses: l.statuses(pod.Spec.InitContainers, "PodInitializing"),
		ContainerStatuses:     l.statuses(pod.Spec.Containers, l.notYet(pod)),
	}
	s.Phase = phase(pod.Spec.RestartPolicy, s.ContainerStatuses)
	s.Conditions = l.conditions(pod, s, metav1.NewTime(now))
	return s
}

// notYet is why containers wait that have done nothing yet.
func (l *life) notYet(pod *corev1.Pod) string {
	if l.mounted && len(pod.Spec.InitContainers) > 0 {
		return "PodInitializing"
	}
	return "ContainerCreating"
}

func (l *life) statuses(specs []corev1.Container, notYet string) []corev1.ContainerStatus {
	var list []corev1.ContainerStatus
	for _, spec := range specs {
		s := l.container(spec.Name).ContainerStatus
		s.Name, s.Image = spec.Name, spec.Image
		if s.State == (corev1.ContainerState{}) {
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: notYet}
		}
		list = append(list, s)
	}
	return list
}

// phase follows from the states of the ordinary containers, and from whether
// those that ended will be started again.
func phase(policy corev1.RestartPolicy, containers []corev1.ContainerStatus) corev1.PodPhase {
	running, failed := false, false
	for _, c := range containers {
		switch ended := c.State.Terminated; {
		case ended == nil && c.State.Running == nil && c.LastTerminationState.Terminated == nil:
			return corev1.PodPending
		case ended == nil, policy == corev1.RestartPolicyAlways, policy == corev1.RestartPolicyOnFailure && ended.ExitCode != 0:
			running = true
		default:
			failed = failed || ended.ExitCode != 0
		}
	}
	switch {
	case running:
		return corev1.PodRunning
	case failed:
		return corev1.PodFailed
	}
	return corev1.PodSucceeded
}

func (l *life) conditions(pod *corev1.Pod, s corev1.PodStatus, now metav1.Time) []corev1.PodCondition {
	reason, message := "", ""
	if waiting := unready(s.ContainerStatuses); len(waiting) > 0 {
		reason, message = "ContainersNotReady", fmt.Sprintf("containers with unready status: [%s]", strings.Join(waiting, " "))
	}
	if s.Phase == corev1.PodSucceeded {
		reason, message = "PodCompleted", ""
	}
	list := []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		{Type: corev1.PodReadyToStartContainers, Status: truth(l.mounted)},
		{Type: corev1.PodInitialized, Status: truth(l.mounted && initialized(s.InitContainerStatuses))},
		{Type: corev1.ContainersReady, Status: truth(reason == ""), Reason: reason, Message: message},
		{Type: corev1.PodReady, Status: truth(reason == ""), Reason: reason, Message: message},
	}
	for i := range list {
		list[i].LastTransitionTime = since(pod.Status.Conditions, list[i], now)
	}
	return list
}

// since is when a condition came to be as it is.
func since(before []corev1.PodCondition, c corev1.PodCondition, now metav1.Time) metav1.Time {
	for _, b := range before {
		if b.Type == c.Type && b.Status == c.Status {
			return b.LastTransitionTime
		}
	}
	return now
}

func unready(containers []corev1.ContainerStatus) []string {
	var names []string
	for _, c := range containers {
		if !c.Ready {
			names = append(names, c.Name)
		}
	}
	return names
}

func initialized(containers []corev1.ContainerStatus) bool {
	for _, c := range containers {
		if !c.Ready && c.State.Terminated == nil {
			return false
		}
	}
	return true
}

func truth(b bool) corev1.ConditionStatus {
	if b {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// report writes the status if it differs from what stands. The UID keeps it off
// a pod that has since got the same name.
func (k *Kubelet) report(ctx context.Context, pod *corev1.Pod, s corev1.PodStatus) error {
	if same(pod.Status, s) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": s})
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	_, err = k.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return ignoreGone(err)
}

// same compares as the API server stores: times in seconds, and conditions that
// others have set left alone.
func same(stands, s corev1.PodStatus) bool {
	for _, c := range s.Conditions {
		if !holds(stands.Conditions, c) {
			return false
		}
	}
	return stands.Phase == s.Phase && stands.ObservedGeneration == s.ObservedGeneration && stands.PodIP == s.PodIP &&
		sameContainers(stands.InitContainerStatuses, s.InitContainerStatuses) &&
		sameContainers(stands.ContainerStatuses, s.ContainerStatuses)
}

func holds(conditions []corev1.PodCondition, c corev1.PodCondition) bool {
	for _, b := range conditions {
		if b.Type == c.Type {
			return b.Status == c.Status && b.Reason == c.Reason && b.Message == c.Message
		}
	}
	return false
}

func sameContainers(stand, s []corev1.ContainerStatus) bool {
	if len(stand) != len(s) {
		return false
	}
	for i := range s {
		a, b := stand[i], s[i]
		if a.Ready != b.Ready || a.RestartCount != b.RestartCount || a.ImageID != b.ImageID || a.ContainerID != b.ContainerID ||
			!equality.Semantic.DeepEqual(a.State.Waiting, b.State.Waiting) ||
			(a.State.Running == nil) != (b.State.Running == nil) || (a.State.Terminated == nil) != (b.State.Terminated == nil) {
			return false
		}
	}
	return true
}
