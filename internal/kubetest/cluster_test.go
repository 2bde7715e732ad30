package kubetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"toa.io/toa/internal/kubetest"
)

func TestDeploymentBecomesReadyWithTheDigestOfItsImage(t *testing.T) {
	c, reg := kubetest.Shared(t), newRegistry(t)
	ns := c.Namespace(t)
	image, digest := reg.push(t, "shop/orders")

	for name, image := range map[string]string{
		"by-tag":    image,
		"by-digest": image + "@" + digest,
	} {
		deploy(t, c, ns, name, image, nil)
		eventually(t, name+" is ready", func(ctx context.Context) (string, bool) {
			d, err := c.Client.AppsV1().Deployments(ns).Get(ctx, name, metav1.GetOptions{})
			return fmt.Sprint(d.Status, err), err == nil && d.Status.ReadyReplicas == 1
		})
		if got := pod(t, c, ns, name).Status.ContainerStatuses[0].ImageID; !strings.HasSuffix(got, "/shop/orders@"+digest) {
			t.Errorf("image ID of %s: got %s, want the digest %s", name, got, digest)
		}
	}
}

func TestImageThatIsAbsentIsWaitedFor(t *testing.T) {
	c, reg := kubetest.Shared(t), newRegistry(t)
	ns := c.Namespace(t)
	image := strings.TrimPrefix(reg.URL, "http://") + "/shop/orders:one"

	deploy(t, c, ns, "orders", image, nil)
	waits(t, c, ns, "orders", "ErrImagePull", "not found")
	waits(t, c, ns, "orders", "ImagePullBackOff", "Back-off pulling image")
	event(t, c, ns, "Failed", "Failed to pull image")
	if got := pod(t, c, ns, "orders").Status.Phase; got != corev1.PodPending {
		t.Errorf("phase: got %s, want Pending", got)
	}
	reg.push(t, "shop/orders")
	ready(t, c, ns, "orders")
}

func TestCrashIsToldAndCanBeRead(t *testing.T) {
	c := kubetest.Shared(t)
	ns := c.Namespace(t)
	image, _ := newRegistry(t).push(t, "shop/orders")

	deploy(t, c, ns, "orders", image, map[string]string{kubetest.Crash: "true", kubetest.Log: "cannot find the database"})
	p := waits(t, c, ns, "orders", "CrashLoopBackOff", "back-off")
	status := p.Status.ContainerStatuses[0]
	if last := status.LastTerminationState.Terminated; last == nil || last.ExitCode != 1 {
		t.Errorf("last state: got %v, want exit code 1", last)
	}
	eventually(t, "orders is restarted", func(context.Context) (string, bool) {
		n := pod(t, c, ns, "orders").Status.ContainerStatuses[0].RestartCount
		return fmt.Sprint(n), n >= 2
	})
	lines := int64(2)
	got, err := c.Client.CoreV1().Pods(ns).GetLogs(p.Name, &corev1.PodLogOptions{Previous: true, TailLines: &lines}).DoRaw(t.Context())
	if err != nil || !strings.HasPrefix(string(got), "cannot find the database\nrun ") {
		t.Errorf("log: got %q, %v", got, err)
	}
}

func TestMisbehaviourOfANamespaceHoldsForPodsThatMatch(t *testing.T) {
	c := kubetest.Shared(t)
	ns := c.Namespace(t)
	image, _ := newRegistry(t).push(t, "shop/orders")

	c.Misbehave(t, ns, map[string]string{kubetest.NeverReady: "true", kubetest.Only: "orders-*"})
	deploy(t, c, ns, "orders", image, nil)
	deploy(t, c, ns, "carts", image, nil)
	ready(t, c, ns, "carts")
	event(t, c, ns, "Unhealthy", "never ready")
	if p := pod(t, c, ns, "orders"); p.Status.Phase != corev1.PodRunning || p.Status.ContainerStatuses[0].Ready {
		t.Errorf("orders: got %s, %v, want it to run and not to be ready", p.Status.Phase, p.Status.ContainerStatuses)
	}
}

func TestVariablesAreWhatTheKubeletMakesOfThem(t *testing.T) {
	c := kubetest.Shared(t)
	ns := c.Namespace(t)
	image, _ := newRegistry(t).push(t, "shop/orders")
	odd := "010 ~ \"quoted\"\n\ttwo lines {{ .Values }} $$(HOST) é"
	env := []corev1.EnvVar{
		{Name: "HOST", Value: "db"},
		{Name: "URL", Value: "pg://$(HOST)/$(NONE)"},
		{Name: "ODD", Value: odd},
		{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "db"}, Key: "password",
		}}},
	}
	deployWith(t, c, ns, "orders", image, map[string]string{kubetest.PrintEnv: "true"}, env)
	waits(t, c, ns, "orders", "CreateContainerConfigError", `secret "db" not found`)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "db"}, StringData: map[string]string{"password": "p"}}
	if _, err := c.Client.CoreV1().Secrets(ns).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p := ready(t, c, ns, "orders")
	log, err := c.Client.CoreV1().Pods(ns).GetLogs(p.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(strings.SplitN(string(log), "\n", 2)[0]), &got); err != nil {
		t.Fatalf("log %q: %v", log, err)
	}
	for name, want := range map[string]string{
		"URL": "pg://db/$(NONE)", "ODD": strings.ReplaceAll(odd, "$$", "$"), "PASSWORD": "p",
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
}

func TestPodLingers(t *testing.T) {
	c := kubetest.Shared(t)
	ns := c.Namespace(t)
	image, _ := newRegistry(t).push(t, "shop/orders")
	deploy(t, c, ns, "orders", image, map[string]string{kubetest.Linger: "2s"})
	p := ready(t, c, ns, "orders")

	began := time.Now()
	if err := c.Client.CoreV1().Pods(ns).Delete(t.Context(), p.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "pod is gone", func(ctx context.Context) (string, bool) {
		_, err := c.Client.CoreV1().Pods(ns).Get(ctx, p.Name, metav1.GetOptions{})
		return fmt.Sprint(err), apierrors.IsNotFound(err)
	})
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("pod was gone after %s, want 2s at least", took)
	}
}

func TestDeployerMayDoWhatIsGranted(t *testing.T) {
	c := kubetest.Shared(t)
	ns, other := c.Namespace(t), c.Namespace(t)
	config := c.Grant(t, ns, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "rights are known", func(ctx context.Context) (string, bool) {
		_, err := client.CoreV1().ConfigMaps(ns).List(ctx, metav1.ListOptions{})
		return fmt.Sprint(err), err == nil
	})
	if _, err := client.CoreV1().Secrets(ns).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list secrets: got %v, want it forbidden", err)
	}
	if _, err := client.CoreV1().ConfigMaps(other).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list in another namespace: got %v, want it forbidden", err)
	}
}

func TestAPIServerIsRestarted(t *testing.T) {
	c := kubetest.Start(t, kubetest.TrustImages(), kubetest.Nodes(2), kubetest.Contexts("staging"))
	ns := c.Namespace(t)
	deploy(t, c, ns, "before", "example.com/none:1", nil)
	ready(t, c, ns, "before")

	c.StopAPIServer(t)
	if _, err := c.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("a stopped API server answers")
	}
	c.StartAPIServer(t)
	ready(t, c, ns, "before")
	c.RestartAPIServer(t)
	deploy(t, c, ns, "after", "example.com/none:1", nil)
	ready(t, c, ns, "after")
	nodes, err := c.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 2 {
		t.Errorf("nodes: got %v, %v, want 2", nodes, err)
	}
}

func deploy(t *testing.T, c *kubetest.Cluster, ns, name, image string, annotations map[string]string) {
	t.Helper()
	deployWith(t, c, ns, name, image, annotations, nil)
}

func deployWith(t *testing.T, c *kubetest.Cluster, ns, name, image string, annotations map[string]string, env []corev1.EnvVar) {
	t.Helper()
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image, Env: env}}},
		},
	}}
	if _, err := c.Client.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create deployment: %v", err)
	}
}

// pod returns the one pod of a deployment.
func pod(t *testing.T, c *kubetest.Cluster, ns, name string) *corev1.Pod {
	t.Helper()
	var found *corev1.Pod
	eventually(t, name+" has a pod", func(ctx context.Context) (string, bool) {
		list, err := c.Client.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil || len(list.Items) != 1 || len(list.Items[0].Status.ContainerStatuses) == 0 {
			return fmt.Sprint(list, err), false
		}
		found = &list.Items[0]
		return "", true
	})
	return found
}

func ready(t *testing.T, c *kubetest.Cluster, ns, name string) *corev1.Pod {
	t.Helper()
	var p *corev1.Pod
	eventually(t, name+" is ready", func(context.Context) (string, bool) {
		p = pod(t, c, ns, name)
		return fmt.Sprint(p.Status), p.Status.ContainerStatuses[0].Ready
	})
	return p
}

func waits(t *testing.T, c *kubetest.Cluster, ns, name, reason, message string) *corev1.Pod {
	t.Helper()
	var p *corev1.Pod
	eventually(t, name+" waits for "+reason, func(context.Context) (string, bool) {
		p = pod(t, c, ns, name)
		w := p.Status.ContainerStatuses[0].State.Waiting
		return fmt.Sprint(p.Status), w != nil && w.Reason == reason && strings.Contains(w.Message, message)
	})
	return p
}

func event(t *testing.T, c *kubetest.Cluster, ns, reason, message string) {
	t.Helper()
	eventually(t, "an event "+reason, func(ctx context.Context) (string, bool) {
		list, err := c.Client.CoreV1().Events(ns).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + reason})
		if err != nil {
			return err.Error(), false
		}
		for _, e := range list.Items {
			if strings.Contains(e.Message, message) {
				return "", true
			}
		}
		return fmt.Sprint(list.Items), false
	})
}

// eventually polls until a condition holds; it fails with what was seen last.
func eventually(t *testing.T, what string, condition func(context.Context) (saw string, ok bool)) {
	t.Helper()
	var saw string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (ok bool, _ error) {
		saw, ok = condition(ctx)
		return ok, nil
	})
	if err != nil {
		t.Fatalf("%s: %v; saw %s", what, err, saw)
	}
}
