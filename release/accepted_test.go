package release_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/releaseutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"toa.io/toa/chart"
	"toa.io/toa/extensions"
	"toa.io/toa/internal/kubetest"
)

// A real API server takes what the chart renders, and real pods see what was
// stated. No image is asked for: none of these is anywhere.
func TestServer(t *testing.T) {
	s := newServer(t, kubetest.Start(t, kubetest.TrustImages()))
	t.Run("takes the charts", s.takesCharts)
	t.Run("takes any text", s.takesTexts)
	t.Run("takes the names that the check takes", s.takesNames)
	t.Run("hands on variables as they are", s.handsOnVariables)
}

// server is an API server and a namespace in it.
type server struct {
	*kubetest.Cluster
	namespace string
	objects   dynamic.Interface
}

func newServer(t *testing.T, c *kubetest.Cluster) server {
	t.Helper()
	objects, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return server{c, c.Namespace(t), objects}
}

// create sends every rendered document as it stands. Strict, the server refuses
// fields that it does not know, as the API's own defaults would hide.
func (s server) create(ctx context.Context, files map[string]string, dry ...string) (count int, err error) {
	for _, path := range slices.Sorted(maps.Keys(files)) {
		documents := releaseutil.SplitManifests(files[path])
		for _, name := range slices.Sorted(maps.Keys(documents)) {
			object := new(unstructured.Unstructured)
			if err := yaml.Unmarshal([]byte(documents[name]), &object.Object); err != nil {
				return count, err
			}
			resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
			options := metav1.CreateOptions{DryRun: dry, FieldValidation: metav1.FieldValidationStrict}
			if _, err := s.objects.Resource(resource).Namespace(s.namespace).Create(ctx, object, options); err != nil {
				return count, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
			}
			count++
		}
	}
	return count, nil
}

// accept is `kubectl create --dry-run=server`.
func (s server) accept(ctx context.Context, t tester, files map[string]string, want int) {
	t.Helper()
	count, err := s.create(ctx, files, metav1.DryRunAll)
	if err != nil {
		t.Errorf("the server refuses %v", err)
	} else if count != want {
		t.Errorf("there are %d objects, want %d", count, want)
	}
}

func (s server) takesCharts(t *testing.T) {
	ctx := t.Context()
	for name, in := range workspaces() {
		files := render(t, unpacked(t, filled(t, in)), nil)
		t.Log(name)
		s.accept(ctx, t, files, len(objects(t, files)))
	}
	for _, more := range []map[string]any{everything(), confinement()} {
		files := render(t, unpacked(t, filled(t, platform())), more)
		s.accept(ctx, t, files, len(objects(t, files)))
	}
}

func (s server) takesTexts(t *testing.T) {
	ctx := t.Context()
	for _, value := range append(slices.Clone(tricky), huge) {
		in := platform()
		spoil(in.Deployment, value)
		s.accept(ctx, t, render(t, unpacked(t, filled(t, in)), nil), 12)
	}
}

func (s server) takesNames(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		in := platform()
		rename(t, in.Deployment)
		if chart.CheckDeployment(in.Workspace, in.Deployment) == nil {
			s.accept(ctx, t, render(t, unpacked(t, filled(t, in)), nil), 12)
		}
	})
}

// huge is a value of 64 KiB.
var huge = strings.Repeat("$(A) \"\n\t'😀", 64<<10/15)

// plain are values that look like something else, and those that are known to
// have been changed on the way by one tool or another.
func plain() []string {
	values := []string{"1.10", "9007199254740993", "9007199254740992", "1e6", "0o10", "+1", "=", huge, "a\tb", "line\n\n  more\n", "{{ .Values }}\n---\nkind: Pod"}
	for _, value := range tricky {
		if !strings.Contains(value, "\x00") { // no process can have it
			values = append(values, value)
		}
	}
	return values
}

// handsOnVariables lets a pod say what its process sees.
func (s server) handsOnVariables(t *testing.T) {
	in, values := input(), plain()
	unit := extensions.Unit{ID: "composition/store", Components: []string{"store-orders"}, Replicas: 1}
	for i, value := range values {
		unit.Variables = append(unit.Variables, extensions.Variable{Name: fmt.Sprintf("V%d", i), Value: value})
	}
	in.Deployment = &extensions.Deployment{Units: []extensions.Unit{unit}}
	s.Misbehave(t, s.namespace, map[string]string{kubetest.PrintEnv: "true"})
	if _, err := s.create(t.Context(), render(t, load(t, filled(t, in)), nil)); err != nil {
		t.Fatal(err)
	}
	environment := s.environment(t, "toa/composition=store")
	for i, value := range values {
		if got, ok := environment[fmt.Sprintf("V%d", i)]; !ok || got != value {
			t.Errorf("a process sees %.100q, want %.100q", got, value)
		}
	}
}

// environment is what the first running pod with a label says of its own.
func (s server) environment(t *testing.T, label string) map[string]string {
	t.Helper()
	var said []byte
	pods := s.Client.CoreV1().Pods(s.namespace)
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		found, err := pods.List(ctx, metav1.ListOptions{LabelSelector: label})
		if err != nil || len(found.Items) == 0 || found.Items[0].Status.Phase != corev1.PodRunning {
			return false, err
		}
		said, err = pods.GetLogs(found.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		return len(said) > 0, err
	})
	if err != nil {
		t.Fatalf("wait for a pod with %s: %v", label, err)
	}
	var environment map[string]string
	if err := json.NewDecoder(bytes.NewReader(said)).Decode(&environment); err != nil { // other lines follow
		t.Fatalf("environment is %.200q: %v", said, err)
	}
	return environment
}
