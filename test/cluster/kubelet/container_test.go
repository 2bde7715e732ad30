package kubelet

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// missing is a registry that gets an image after some attempts.
type missing struct{ left int }

func (m *missing) Pull(context.Context, string, []corev1.Secret) (string, error) {
	if m.left--; m.left >= 0 {
		return "", errors.New("not found")
	}
	return "a@sha256:1", nil
}

func TestContainerGoesThroughItsStates(t *testing.T) {
	always, never := corev1.RestartPolicyAlways, corev1.RestartPolicyNever
	for name, c := range map[string]struct {
		behaviour Behaviour
		policy    corev1.RestartPolicy
		images    Images
		want      []string
	}{
		"healthy":     {policy: always, want: []string{"Ready"}},
		"a job":       {policy: never, want: []string{"Completed"}},
		"a job fails": {behaviour: Behaviour{Crashes: 1}, policy: never, want: []string{"Running", "Error"}},
		"late": {
			behaviour: Behaviour{ReadyAfter: time.Minute}, policy: always,
			want: []string{"Running", "Ready"},
		},
		"never ready": {behaviour: Behaviour{NeverReady: true}, policy: always, want: []string{"Running"}},
		"crashes twice": {
			behaviour: Behaviour{Crashes: 2}, policy: always,
			want: []string{"Running", "Error", "CrashLoopBackOff", "Running", "Error", "CrashLoopBackOff", "Ready"},
		},
		"its image comes late": {
			policy: always, images: &missing{2},
			want: []string{"ErrImagePull", "ImagePullBackOff", "ErrImagePull", "ImagePullBackOff", "Ready"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := live(t, c.behaviour, c.policy, c.images); !slices.Equal(got, c.want) {
				t.Errorf("states: got %v, want %v", got, c.want)
			}
		})
	}
}

// live takes steps at the times that steps ask for, until no more is asked for.
func live(t *testing.T, b Behaviour, policy corev1.RestartPolicy, images Images) []string {
	t.Helper()
	k, err := New(fake.NewSimpleClientset(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.listener.Close() })
	k.Images = images
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "1"}, Spec: corev1.PodSpec{RestartPolicy: policy}}
	s := scene{pod: pod, spec: &corev1.Container{Name: "c", Image: "a"}, behaviour: b, ends: policy != corev1.RestartPolicyAlways}
	var c container
	var states []string
	for now := time.Unix(0, 0).Add(time.Hour); !now.IsZero(); {
		now = k.step(t.Context(), s, &c, now)
		states = append(states, state(&c))
	}
	return slices.Compact(states)
}

func state(c *container) string {
	switch {
	case c.Ready:
		return "Ready"
	case c.State.Running != nil:
		return "Running"
	case c.State.Terminated != nil:
		return c.State.Terminated.Reason
	}
	return c.State.Waiting.Reason
}

func TestPhase(t *testing.T) {
	waiting := corev1.ContainerStatus{}
	running := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	ended := func(code int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}
	}
	restarting := corev1.ContainerStatus{LastTerminationState: ended(1).State}
	for name, c := range map[string]struct {
		policy     corev1.RestartPolicy
		containers []corev1.ContainerStatus
		want       corev1.PodPhase
	}{
		"one has not started": {corev1.RestartPolicyAlways, []corev1.ContainerStatus{running, waiting}, corev1.PodPending},
		"all run":             {corev1.RestartPolicyAlways, []corev1.ContainerStatus{running, running}, corev1.PodRunning},
		"one will restart":    {corev1.RestartPolicyAlways, []corev1.ContainerStatus{ended(1)}, corev1.PodRunning},
		"one restarts":        {corev1.RestartPolicyAlways, []corev1.ContainerStatus{restarting}, corev1.PodRunning},
		"one is tried again":  {corev1.RestartPolicyOnFailure, []corev1.ContainerStatus{ended(1)}, corev1.PodRunning},
		"all did well":        {corev1.RestartPolicyOnFailure, []corev1.ContainerStatus{ended(0), ended(0)}, corev1.PodSucceeded},
		"one failed":          {corev1.RestartPolicyNever, []corev1.ContainerStatus{ended(0), ended(1)}, corev1.PodFailed},
		"one goes on":         {corev1.RestartPolicyNever, []corev1.ContainerStatus{running, ended(1)}, corev1.PodRunning},
	} {
		if got := phase(c.policy, c.containers); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
