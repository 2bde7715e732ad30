package cluster

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	helm "helm.sh/helm/v3/pkg/release"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/internal/kubetest"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
)

// unit is a Deployment of a test's chart.
type unit struct {
	name        string
	image       string            // one that is there, if empty
	env         map[string]string // plain variables
	annotations map[string]string // of its pods: how they misbehave
	selector    string            // another value of the label that pods are selected by
	replicas    string            // YAML
}

func (u unit) yaml(image string) string {
	if u.image != "" {
		image = u.image
	}
	selector, replicas := u.name, "1"
	if u.selector != "" {
		selector = u.selector
	}
	if u.replicas != "" {
		replicas = u.replicas
	}
	var env, annotations strings.Builder
	for _, key := range slices.Sorted(maps.Keys(u.env)) {
		fmt.Fprintf(&env, "            - {name: %s, value: %q}\n", key, u.env[key])
	}
	for _, key := range slices.Sorted(maps.Keys(u.annotations)) {
		fmt.Fprintf(&annotations, "        %s: %q\n", key, u.annotations[key])
	}
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
spec:
  replicas: %[2]s
  selector: {matchLabels: {app: %[3]s}}
  template:
    metadata:
      labels: {app: %[3]s, toa/composition: %[1]s}
      annotations:
        test: "yes"
%[4]s    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: main
          image: %[5]s
          env:
            - {name: TOA_ENV, value: test}
%[6]s`, u.name, replicas, selector, annotations.String(), image, env.String())
}

// bed is a release in a namespace of its own.
type bed struct {
	testing.TB
	*Cluster
	image string // one that the registry has
}

// newBed makes a namespace in the shared cluster.
func newBed(t *testing.T) *bed {
	t.Helper()
	return bedIn(t, kubetest.Shared(t))
}

func bedIn(t testing.TB, c *kubetest.Cluster) *bed {
	t.Helper()
	target := release.Target{Kubeconfig: c.Kubeconfig, Context: c.Context, Namespace: c.Namespace(t), Name: "shop"}
	return &bed{TB: t, Cluster: opened(t, target), image: pushed(t, "shop", "one")}
}

func opened(t testing.TB, target release.Target) *Cluster {
	t.Helper()
	c, err := Open(target)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// chart is one of the units, and of more documents.
func (b *bed) chart(units []unit, documents ...string) *chart.Chart {
	for _, u := range units {
		documents = append(documents, u.yaml(b.image))
	}
	return &chart.Chart{Name: b.Cluster.Name, Version: "1.0.0", Files: []chart.File{
		{Path: "Chart.yaml", Data: []byte("apiVersion: v2\nname: " + b.Cluster.Name + "\nversion: 1.0.0\n")},
		{Path: "templates/all.yaml", Data: []byte(strings.Join(documents, "\n---\n"))},
		{Path: "values.yaml", Data: []byte("{}\n")},
	}}
}

// key is a key of inputs.
func key(of string) cache.Key {
	h := cache.NewHasher("test/v1")
	h.Field("of", of)
	return h.Sum()
}

// order is one that waits.
func (b *bed) order(inputs string, c *chart.Chart) release.Order {
	return release.Order{
		Format: release.OrderFormat, Target: b.Target, Chart: c, Inputs: key(inputs).String(), Deployed: -1,
		Wait: true, Timeout: 60 * time.Second, History: 10,
	}
}

// told collects messages.
type told struct {
	mu  sync.Mutex
	all []release.Message
}

func (t *told) tell(m release.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, m)
}

func (t *told) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var text strings.Builder
	for _, m := range t.all {
		fmt.Fprintln(&text, m.Notice, strings.Join(m.Evidence, "\n"))
	}
	return text.String()
}

// apply releases in this process and wants it to land.
func (b *bed) apply(order release.Order) orchestrator.Release {
	b.Helper()
	var told told
	made, err := b.Apply(b.Context(), order, told.tell)
	if err != nil {
		b.Fatalf("Apply = %v\n%s", err, told.text())
	}
	return made
}

// worker is a child that makes releases: this test binary.
func (b *bed) worker(observe orchestrator.Observe) release.Worker {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	return release.Worker{Command: []string{"/usr/bin/env", workerEnv + "=1", self}, Observe: observe}
}

// statuses are those of all revisions, oldest first.
func (b *bed) statuses() []helm.Status {
	b.Helper()
	all, err := b.History(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var statuses []helm.Status
	for _, revision := range all {
		statuses = append(statuses, revision.Info.Status)
	}
	return statuses
}

func (b *bed) wantStatuses(want ...helm.Status) {
	b.Helper()
	if got := b.statuses(); !slices.Equal(got, want) {
		b.Errorf("revisions are %q, want %q", got, want)
	}
}

// deployment reads one, nil if it is not there.
func (b *bed) deployment(name string) *appsv1.Deployment {
	b.Helper()
	d, err := b.kube.AppsV1().Deployments(b.Cluster.Namespace).Get(b.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// env is a plain variable of a Deployment's container.
func env(d *appsv1.Deployment, name string) string {
	for _, v := range d.Spec.Template.Spec.Containers[0].Env {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// config reads a ConfigMap, nil if it is not there.
func (b *bed) config(name string) *corev1.ConfigMap {
	b.Helper()
	m, err := b.kube.CoreV1().ConfigMaps(b.Cluster.Namespace).Get(b.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// wantNobody fails when someone holds the release.
func (b *bed) wantNobody() {
	b.Helper()
	if who, err := b.holder(b.Context()); who != "" || err != nil {
		b.Errorf("the release is held by %q, %v, want nobody", who, err)
	}
}

// configMap is a document.
func configMap(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {key: %q}\n", name, value)
}
