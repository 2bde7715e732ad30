package kubelet

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// life is what the kubelet remembers of a pod while the pod exists. One worker
// at a time uses it.
type life struct {
	behaviour  Behaviour
	began      metav1.Time
	address    string
	mounted    bool
	containers map[string]*container
	end        time.Time // when containers have ended that were told to; zero before
}

// sync moves a pod on as far as it can go now. It returns after what time there
// will be more to do; zero means when the pod changes.
func (k *Kubelet) sync(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	switch {
	case pod.DeletionTimestamp != nil:
		return k.terminate(ctx, pod)
	case pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed:
		return 0, nil
	}
	l, err := k.life(ctx, pod)
	if err != nil {
		return 0, err
	}
	now := time.Now()
	again := k.advance(ctx, pod, l, now)
	if err := k.report(ctx, pod, l.status(pod, now)); err != nil {
		return 0, err
	}
	if again.IsZero() {
		return 0, nil
	}
	return max(time.Until(again), time.Millisecond), nil
}

// life finds what is remembered of a pod, or begins to remember it.
func (k *Kubelet) life(ctx context.Context, pod *corev1.Pod) (*life, error) {
	k.mu.Lock()
	l := k.lives[pod.UID]
	k.mu.Unlock()
	if l != nil {
		return l, nil
	}
	behaviour, err := k.behaviour(ctx, pod)
	if err != nil {
		k.events.Eventf(pod, corev1.EventTypeWarning, "Failed", "%v", err)
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.addresses++
	l = &life{
		behaviour:  behaviour,
		began:      metav1.Now(),
		address:    fmt.Sprintf("10.%d.%d.%d", 1+k.addresses>>16, k.addresses>>8&255, k.addresses&255),
		containers: map[string]*container{},
	}
	k.lives[pod.UID] = l
	return l, nil
}

func (k *Kubelet) forget(o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	if pod, ok := o.(*corev1.Pod); ok {
		k.mu.Lock()
		delete(k.lives, pod.UID)
		k.mu.Unlock()
		k.logs.drop(pod)
	}
}

// advance returns when there will be more to do; zero means never.
func (k *Kubelet) advance(ctx context.Context, pod *corev1.Pod, l *life, now time.Time) time.Time {
	if !l.mounted {
		if err := k.mount(ctx, pod); err != nil {
			k.events.Eventf(pod, corev1.EventTypeWarning, "FailedMount", "%v", err)
			return now.Add(time.Second)
		}
		l.mounted = true
	}
	for i := range pod.Spec.InitContainers {
		spec := &pod.Spec.InitContainers[i]
		c := l.container(spec.Name)
		again := k.step(ctx, scene{pod: pod, spec: spec, ends: !sidecar(spec)}, c, now)
		if !c.done() && !c.Ready {
			return again
		}
	}
	var first time.Time
	for i := range pod.Spec.Containers {
		spec := &pod.Spec.Containers[i]
		ends := pod.Spec.RestartPolicy != corev1.RestartPolicyAlways
		first = sooner(first, k.step(ctx, scene{pod, spec, l.behaviour, ends}, l.container(spec.Name), now))
	}
	return first
}

// sidecar tells an init container that goes on from one that comes first.
func sidecar(spec *corev1.Container) bool {
	return spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func (l *life) container(name string) *container {
	if l.containers[name] == nil {
		l.containers[name] = &container{}
	}
	return l.containers[name]
}

// sooner returns the earlier of two times that are not zero.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// terminate ends a pod that is to be deleted, which is the kubelet's to finish.
func (k *Kubelet) terminate(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	l, err := k.life(ctx, pod)
	if err != nil {
		return 0, err
	}
	if l.end.IsZero() {
		l.end = time.Now().Add(min(l.behaviour.Linger, gracePeriod(pod)))
		for _, c := range pod.Spec.Containers {
			k.events.Eventf(pod, corev1.EventTypeNormal, "Killing", "Stopping container %s", c.Name)
		}
	}
	if left := time.Until(l.end); left > 0 {
		return left, nil
	}
	at := int64(0)
	err = k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &at,
		Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
	})
	return 0, ignoreGone(err)
}

func gracePeriod(pod *corev1.Pod) time.Duration {
	if pod.DeletionGracePeriodSeconds == nil {
		return 0
	}
	return time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
}

// ignoreGone makes nothing of a pod that exists no more, or as another one.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
