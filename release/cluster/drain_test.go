package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"toa.io/toa/internal/kubetest"
)

func TestEvidence(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	manifest := b.put([]unit{
		{name: "gone", image: "127.0.0.1:1/shop/edge:gone"},
		{name: "crashes", annotations: map[string]string{kubetest.Crash: "true", kubetest.Log: "cannot\nreach the broker"}},
		{name: "fine"},
	})
	deadline := time.Now().Add(60 * time.Second)
	for {
		text := strings.Join(b.Evidence(t.Context(), manifest), "\n")
		told := strings.Contains(text, "container main: reach the broker") && strings.Contains(text, "Pod gone-") && strings.Contains(text, "Failed")
		if told && strings.Contains(text, "fine") {
			t.Fatalf("the evidence tells of what is ready:\n%s", text)
		}
		if told {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the evidence is\n%s\nwant the last line of crashes, and an event of gone", text)
		}
		_ = pause(t.Context(), 200*time.Millisecond)
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	slow := map[string]string{kubetest.Linger: "3s"}
	grace := func(version string) []unit {
		return []unit{{name: "edge", annotations: slow, env: map[string]string{"V": version}}}
	}
	b.apply(b.order("one", b.chart(grace("1"))))
	if err := b.wait(b.put(grace("2")), new(watched)); err != nil {
		t.Fatal(err)
	}
	var w watched
	if err := b.Drain(t.Context(), w.observe); err != nil {
		t.Fatal(err)
	}
	if last := w.last(); len(last) > 0 {
		t.Errorf("Drain ended with %+v", last)
	}
	pods, err := b.kube.CoreV1().Pods(b.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 1 {
		t.Errorf("there are %d pods, %v, want one", len(pods.Items), err)
	}
}

// A pod that is never let go keeps Drain until its deadline.
func TestDrainEndsWithItsDeadline(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	pods := b.kube.CoreV1().Pods(b.Namespace)
	for name, labels := range map[string]map[string]string{"ours": {"toa/composition": "edge"}, "theirs": {"app": "x"}} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Finalizers: []string{"test.toa.io/kept"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: b.image}}},
		}
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { letGo(t, b, name) })
		if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	inTime(t, func(ctx context.Context) error {
		err := b.Drain(ctx, nil)
		var drain *DrainError
		if !errors.As(err, &drain) || drain.Pods != 1 {
			return fmt.Errorf("Drain = %w, want a *DrainError of 1 pod", err)
		}
		return nil
	})
}

// inTime tries with a deadline what has to learn something before it. In a
// second, on a busy machine, it may learn nothing yet: then it is given more.
func inTime(t *testing.T, try func(context.Context) error) {
	t.Helper()
	var err error
	for limit := time.Second; limit < 2*time.Minute; limit *= 4 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		err = try(ctx)
		cancel()
		if err == nil {
			return
		}
	}
	t.Error(err)
}

// letGo lets a pod go.
func letGo(t *testing.T, b *bed, name string) {
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	_, err := b.kube.CoreV1().Pods(b.Namespace).Patch(context.WithoutCancel(t.Context()), name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Logf("let pod %s go: %v", name, err)
	}
}
