package cluster

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func stuckIn(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func TestDiagnose(t *testing.T) {
	crashing := stuckIn("CrashLoopBackOff", "back-off 40s restarting failed container")
	crashing.RestartCount = 4
	crashing.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
	noRoom := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available:\n3 Insufficient cpu."}
	for name, test := range map[string]struct {
		status corev1.PodStatus
		want   []string
	}{
		"it starts":    {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{stuckIn("ContainerCreating", "")}}, nil},
		"it runs":      {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Ready: true}}}, nil},
		"no image":     {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{stuckIn("ErrImagePull", "not found")}}, []string{"Deployment edge, pod edge-1, container main: ErrImagePull: not found"}},
		"it crashes":   {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{crashing}}, []string{"Deployment edge, pod edge-1, container main: CrashLoopBackOff: it ended 4 times, last with exit code 137 (OOMKilled)"}},
		"init crashes": {corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{crashing}, ContainerStatuses: []corev1.ContainerStatus{stuckIn("PodInitializing", "")}}, []string{"Deployment edge, pod edge-1, container main: CrashLoopBackOff: it ended 4 times, last with exit code 137 (OOMKilled)"}},
		"no room":      {corev1.PodStatus{Conditions: []corev1.PodCondition{noRoom}}, []string{"Deployment edge, pod edge-1: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu."}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}, Status: test.status}
			s := state{}
			s.Kind, s.Name = "Deployment", "edge"
			s.inspect([]*corev1.Pod{pod})
			var got []string
			for _, p := range s.problems {
				got = append(got, p.String())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("the problems are %q, want %q", got, test.want)
			}
			pod.DeletionTimestamp = new(metav1.Time)
			if problems := diagnose(pod); len(problems) > 0 {
				t.Errorf("a pod that goes has problems: %v", problems)
			}
		})
	}
}

func FuzzSentence(f *testing.F) {
	f.Add("a\nb\tc")
	f.Add(strings.Repeat("é", maxSentence))
	f.Add("\xff\xfe")
	f.Fuzz(func(t *testing.T, text string) {
		got := sentence(text)
		if len(got) > maxSentence+len("…") || strings.ContainsAny(got, "\r\n") {
			t.Errorf("sentence(%q) = %q, want one line of at most %d bytes", text, got, maxSentence)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("sentence(%q) = %q broke a letter", text, got)
		}
	})
}
