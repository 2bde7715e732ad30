package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How long things take.
const (
	pullRetry    = time.Second // the first wait for an image; then twice that, and so on
	crashRetry   = time.Second // the first wait after a crash
	longestRetry = 10 * time.Second
	configRetry  = time.Second
	glimpse      = 200 * time.Millisecond // how long a state lasts that is about to pass
)

// container is a small state machine: waiting → running → terminated, and back.
type container struct {
	corev1.ContainerStatus

	again    time.Time     // nothing happens before
	wait     time.Duration // the last wait, which the next is twice as long as
	pullFrom time.Time     // no registry is asked before
	pullErr  error         // why the last attempt failed
	env      map[string]string
}

// scene is what a container is in.
type scene struct {
	pod       *corev1.Pod
	spec      *corev1.Container
	behaviour Behaviour
	ends      bool // a run ends by itself
}

func (c *container) done() bool {
	return c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
}

// step takes one step if its time has come. It returns when the next can be
// taken; zero means never.
func (k *Kubelet) step(ctx context.Context, s scene, c *container, now time.Time) time.Time {
	if c.again.After(now) {
		return c.again
	}
	switch {
	case c.State.Running != nil:
		c.again = k.proceed(s, c, now)
	case c.State.Terminated != nil:
		c.again = k.restart(s, c, now)
	default:
		c.again = k.begin(ctx, s, c, now)
	}
	return c.again
}

// begin starts a container that waits, or says why it cannot.
func (k *Kubelet) begin(ctx context.Context, s scene, c *container, now time.Time) time.Time {
	if c.ImageID == "" {
		if again := k.pull(ctx, s, c, now); c.ImageID == "" {
			return again
		}
	}
	env, err := k.environment(ctx, s.pod, s.spec)
	if err != nil {
		c.waits("CreateContainerConfigError", err.Error())
		k.events.Eventf(s.pod, corev1.EventTypeWarning, "Failed", "Error: %v", err)
		return now.Add(configRetry)
	}
	if c.LastTerminationState.Terminated != nil {
		c.RestartCount++
	}
	c.env = env
	c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}}
	c.ContainerID = fmt.Sprintf("played://%s/%s/%d", s.pod.UID, s.spec.Name, c.RestartCount)
	k.events.Eventf(s.pod, corev1.EventTypeNormal, "Started", "Container started")
	k.logs.start(s.pod, s.spec.Name, s.output(c))
	return k.proceed(s, c, now)
}

// pull asks for the image, unless it was asked for a moment ago.
func (k *Kubelet) pull(ctx context.Context, s scene, c *container, now time.Time) time.Time {
	if now.Before(c.pullFrom) {
		message := fmt.Sprintf("Back-off pulling image %q", s.spec.Image)
		k.events.Event(s.pod, corev1.EventTypeNormal, "BackOff", message)
		c.waits("ImagePullBackOff", fmt.Sprintf("%s: ErrImagePull: %v", message, c.pullErr))
		return c.pullFrom
	}
	id, err := k.ask(ctx, s)
	if err != nil {
		c.pullErr = err
		k.events.Eventf(s.pod, corev1.EventTypeWarning, "Failed", "Failed to pull image %q: %v", s.spec.Image, err)
		k.events.Event(s.pod, corev1.EventTypeWarning, "Failed", "Error: ErrImagePull")
		c.waits("ErrImagePull", err.Error())
		c.pullFrom = now.Add(glimpse + c.longer(pullRetry))
		return now.Add(glimpse)
	}
	k.events.Eventf(s.pod, corev1.EventTypeNormal, "Pulled", "Successfully pulled image %q", s.spec.Image)
	c.ImageID, c.wait = id, 0
	return now
}

func (k *Kubelet) ask(ctx context.Context, s scene) (string, error) {
	if k.Images == nil {
		return s.spec.Image, nil
	}
	secrets, err := k.pullSecrets(ctx, s.pod)
	if err != nil {
		return "", err
	}
	k.events.Eventf(s.pod, corev1.EventTypeNormal, "Pulling", "Pulling image %q", s.spec.Image)
	return k.Images.Pull(ctx, s.spec.Image, secrets)
}

// proceed is what becomes of a container that runs.
func (k *Kubelet) proceed(s scene, c *container, now time.Time) time.Time {
	started := c.State.Running.StartedAt.Time
	c.Started = new(bool)
	*c.Started = true
	switch ready := started.Add(s.behaviour.ReadyAfter); {
	case int(c.RestartCount) < s.behaviour.Crashes:
		if end := started.Add(glimpse); now.Before(end) {
			return end
		}
		c.terminate("Error", 1, now)
		return now
	case s.ends:
		c.terminate("Completed", 0, now)
		return time.Time{}
	case s.behaviour.NeverReady:
		k.events.Event(s.pod, corev1.EventTypeWarning, "Unhealthy", "Readiness probe failed: the pod is never ready")
		return time.Time{}
	case now.Before(ready):
		return ready
	}
	c.Ready = true
	return time.Time{}
}

// restart is what becomes of a container that has ended.
func (k *Kubelet) restart(s scene, c *container, now time.Time) time.Time {
	if c.done() || s.pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
		return time.Time{}
	}
	c.LastTerminationState = corev1.ContainerState{Terminated: c.State.Terminated}
	wait := c.longer(crashRetry)
	c.waits("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
		wait, s.spec.Name, s.pod.Name, s.pod.Namespace, s.pod.UID))
	k.events.Eventf(s.pod, corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container %s in pod %s_%s(%s)",
		s.spec.Name, s.pod.Name, s.pod.Namespace, s.pod.UID)
	return now.Add(wait)
}

func (c *container) waits(reason, message string) {
	c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func (c *container) terminate(reason string, code int32, now time.Time) {
	c.Ready = false
	*c.Started = false
	c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: reason, ExitCode: code, ContainerID: c.ContainerID,
		StartedAt: c.State.Running.StartedAt, FinishedAt: metav1.NewTime(now),
	}}
}

// longer doubles the wait, from first on.
func (c *container) longer(first time.Duration) time.Duration {
	c.wait = min(max(2*c.wait, first), longestRetry)
	return c.wait
}

// output is what a run writes, all of it as it starts.
func (s scene) output(c *container) string {
	text := s.behaviour.Log
	if s.behaviour.PrintEnv {
		env, err := json.Marshal(c.env)
		if err != nil {
			panic(err) // strings are all there is in it
		}
		text += string(env) + "\n"
	}
	if int(c.RestartCount) < s.behaviour.Crashes {
		return text + fmt.Sprintf("run %d: told to crash\n", c.RestartCount+1)
	}
	return text + fmt.Sprintf("run %d: started\n", c.RestartCount+1)
}
