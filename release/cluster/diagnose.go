package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Problem is what keeps a workload from being ready.
type Problem struct {
	// Workload is such as "Deployment composition-edge".
	Workload string
	// Pod and Container are empty where the trouble is not in one.
	Pod, Container string
	// Reason is Kubernetes' word for it, such as "ImagePullBackOff".
	Reason string
	// Message is the cluster's sentence, if there is one.
	Message string
}

func (p Problem) String() string {
	text := p.Workload
	if p.Pod != "" {
		text += ", pod " + p.Pod
	}
	if p.Container != "" {
		text += ", container " + p.Container
	}
	text += ": " + p.Reason
	if p.Message != "" {
		text += ": " + p.Message
	}
	return text
}

// Reasons that Kubernetes has no word for.
const (
	reasonGone      = "Gone"
	reasonPaused    = "Paused"
	reasonLost      = "VolumeLost"
	reasonFailedJob = "JobFailed"
)

const (
	reasonUnschedulable = corev1.PodReasonUnschedulable
	reasonCrashing      = "CrashLoopBackOff"
)

// maxSentence is how many bytes of a message of the cluster are passed on.
const maxSentence = 400

// diagnose finds what keeps a pod from being ready. A pod that only needs more
// time has no problem, and one that goes has none any more.
func diagnose(pod *corev1.Pod) []Problem {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	var problems []Problem
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && condition.Reason == reasonUnschedulable {
			problems = append(problems, Problem{Pod: pod.Name, Reason: condition.Reason, Message: sentence(condition.Message)})
		}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		waiting := status.State.Waiting
		if waiting == nil || isUsual(waiting.Reason) {
			continue
		}
		problems = append(problems, Problem{Pod: pod.Name, Container: status.Name, Reason: waiting.Reason, Message: sentence(explain(status))})
	}
	return problems
}

// isUsual tells the states that every container goes through.
func isUsual(reason string) bool {
	return reason == "" || reason == "ContainerCreating" || reason == "PodInitializing"
}

// explain says more of a waiting container than its reason. Of one that keeps
// ending, how it ended last.
func explain(status corev1.ContainerStatus) string {
	ended := status.LastTerminationState.Terminated
	if status.State.Waiting.Reason != reasonCrashing || ended == nil {
		return status.State.Waiting.Message
	}
	text := fmt.Sprintf("it ended %d times, last with exit code %d (%s)", status.RestartCount, ended.ExitCode, cmp.Or(ended.Reason, "Error"))
	if ended.Message != "" {
		text += ": " + ended.Message
	}
	return text
}

// sentence is one line of bounded length.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxSentence {
		return text
	}
	return strings.ToValidUTF8(text[:maxSentence], "") + "…"
}
