package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"toa.io/toa/internal/kubetest"
	"toa.io/toa/orchestrator"
)

// watched collects what Wait and Drain tell.
type watched struct {
	mu  sync.Mutex
	all [][]orchestrator.Workload
}

func (w *watched) observe(now []orchestrator.Workload) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, slices.Clone(now))
}

func (w *watched) last() []orchestrator.Workload {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.all) == 0 {
		return nil
	}
	return w.all[len(w.all)-1]
}

// put applies a manifest without waiting for it, and returns it.
func (b *bed) put(units []unit, documents ...string) string {
	b.Helper()
	c := b.chart(units, documents...)
	order := b.order("put", c)
	order.Wait = false
	b.apply(order)
	rendered, err := Render(c, b.Namespace)
	if err != nil {
		b.Fatal(err)
	}
	return rendered.Manifest
}

// wait waits for a manifest for at most a minute and a half.
func (b *bed) wait(manifest string, w *watched) error {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.TB.Context(), 90*time.Second)
	defer cancel()
	return b.Wait(ctx, manifest, w.observe)
}

func TestWaitTellsHowFarWorkloadsAre(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	manifest := b.put([]unit{{name: "a", replicas: "2"}, {name: "b", annotations: map[string]string{kubetest.ReadyAfter: "1s"}}}, configMap("map", "1"))
	var w watched
	if err := b.wait(manifest, &w); err != nil {
		t.Fatal(err)
	}
	want := []orchestrator.Workload{{Kind: "Deployment", Name: "a", Ready: 2, Desired: 2}, {Kind: "Deployment", Name: "b", Ready: 1, Desired: 1}}
	if got := w.last(); !slices.Equal(got, want) {
		t.Errorf("at last they are %+v, want %+v", got, want)
	}
	if len(w.all) < 2 {
		t.Errorf("only %+v was told", w.all)
	}
}

func TestWaitIsForTheNewPods(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.apply(b.order("one", b.chart([]unit{{name: "edge", replicas: "2", env: map[string]string{"V": "1"}}})))
	manifest := b.put([]unit{{name: "edge", replicas: "2", env: map[string]string{"V": "2"}}})
	if err := b.wait(manifest, new(watched)); err != nil {
		t.Fatal(err)
	}
	pods, err := b.kube.CoreV1().Pods(b.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if old := pod.Spec.Containers[0].Env[1].Value == "1"; old && pod.DeletionTimestamp == nil {
			t.Errorf("pod %s is of the old template, and not on its way out", pod.Name)
		}
	}
}

func TestWaitKnowsNothingToWaitFor(t *testing.T) {
	t.Parallel()
	b := onPaper(t) // no cluster is asked
	if err := b.Wait(t.Context(), configMap("map", "1"), nil); err != nil {
		t.Error(err)
	}
}

// What will not mend itself ends the waiting within a minute, by name.
func TestWaitEndsEarly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		unit      unit
		documents []string
		reason    string // of the first problem
		says      string
	}{
		"image gone":   {unit{name: "edge", image: "127.0.0.1:1/shop/edge:gone"}, nil, "ImagePullBackOff", "container main: "},
		"crash loop":   {unit{name: "edge", annotations: map[string]string{kubetest.Crash: "true"}}, nil, "CrashLoopBackOff", "exit code 1"},
		"quota":        {unit{name: "edge"}, []string{"apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none}\nspec: {hard: {pods: \"0\"}}\n"}, "FailedCreate", "exceeded quota"},
		"a failed job": {unit{name: "same"}, []string{migration}, reasonFailedJob, "BackoffLimitExceeded"},
		"deleted":      {unit{name: "same"}, []string{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\n"}, reasonGone, "it was deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			manifest := b.put([]unit{test.unit}, withImage(test.documents, b.image)...)
			if test.reason == reasonGone {
				if err := b.kube.AppsV1().Deployments(b.Namespace).Delete(t.Context(), "same", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			start := time.Now()
			b.wantStuck(b.wait(manifest, new(watched)), test.reason, test.says)
			if took := time.Since(start); took > 60*time.Second {
				t.Errorf("that took %s, want less than a minute", took)
			}
		})
	}
}

const migration = `apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {kubetest.toa.io/crash: "true"}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: IMAGE}]
`

// withImage fills in the image of documents.
func withImage(documents []string, image string) []string {
	filled := make([]string, len(documents))
	for i, document := range documents {
		filled[i] = strings.ReplaceAll(document, "IMAGE", image)
	}
	return filled
}

// wantStuck wants an error that names what is wrong, and not that time is up.
func (b *bed) wantStuck(err error, reason, says string) {
	b.Helper()
	var stuck *NotReadyError
	if !errors.As(err, &stuck) || errors.Is(err, context.DeadlineExceeded) {
		b.Fatalf("Wait = %v, want a *NotReadyError", err)
	}
	if stuck.After != 0 || family(stuck.Problems[0].Reason) != reason || !strings.Contains(err.Error(), says) {
		b.Errorf("Wait = %v, want %s and %q", err, reason, says)
	}
}

func TestWaitEndsWhenNoNodeHasRoom(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "huge"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
		Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100000")},
		Default: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100000")},
	}}}}
	if _, err := b.kube.CoreV1().LimitRanges(b.Namespace).Create(t.Context(), limits, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.wantStuck(b.wait(b.put([]unit{{name: "edge"}}), new(watched)), reasonUnschedulable, "Insufficient cpu")
}

func TestWaitEndsWithItsDeadline(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	manifest := b.put([]unit{{name: "edge", annotations: map[string]string{kubetest.NeverReady: "true"}}, {name: "fine"}})
	inTime(t, func(ctx context.Context) error {
		err := b.Wait(ctx, manifest, nil)
		var late *NotReadyError
		if !errors.As(err, &late) || late.After < time.Second {
			return fmt.Errorf("Wait = %w, want a *NotReadyError after a second", err)
		}
		if !strings.Contains(err.Error(), "Deployment edge: 0 of 1 ready") {
			return fmt.Errorf("Wait = %w, want how far edge is", err)
		}
		return nil
	})
}

func TestWaitEndsWhenItIsCancelled(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	manifest := b.put([]unit{{name: "edge", annotations: map[string]string{kubetest.NeverReady: "true"}}})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	first := make(chan struct{}, 100)
	ended := make(chan error, 1)
	go func() { ended <- b.Wait(ctx, manifest, func([]orchestrator.Workload) { first <- struct{}{} }) }()
	<-first
	cancel(cause)
	select {
	case err := <-ended:
		if !errors.Is(err, cause) {
			t.Errorf("Wait = %v, want %v", err, cause)
		}
	case <-time.After(time.Minute):
		t.Error("Wait goes on")
	}
}

func TestWaitOutlivesARestartOfTheAPIServer(t *testing.T) {
	t.Parallel()
	cluster := kubetest.Start(t)
	b := bedIn(t, cluster)
	cluster.Misbehave(t, b.Namespace, map[string]string{kubetest.ReadyAfter: "2s"})
	manifest := b.put([]unit{{name: "edge"}})
	ended := make(chan error, 1)
	first := make(chan struct{}, 100)
	go func() {
		ended <- b.Wait(t.Context(), manifest, func([]orchestrator.Workload) { first <- struct{}{} })
	}()
	<-first
	cluster.RestartAPIServer(t)
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("Wait = %v", err)
		}
	case <-time.After(80 * time.Second):
		t.Error("Wait does not end")
	}
}
