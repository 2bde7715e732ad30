package kubetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
)

// The annotations that tell pods how to behave: on the pods themselves, or on
// their namespace (see [Cluster.Misbehave]).
const (
	Crash      = "kubetest.toa.io/crash"       // "true": every run ends with exit code 1; "3": the first three do
	NeverReady = "kubetest.toa.io/never-ready" // "true": containers run and are never ready
	ReadyAfter = "kubetest.toa.io/ready-after" // a duration from when a container started
	Linger     = "kubetest.toa.io/linger"      // how long containers take to end once told to, the grace period at most
	Log        = "kubetest.toa.io/log"         // what containers write before anything else
	PrintEnv   = "kubetest.toa.io/print-env"   // "true": containers write their environment, one JSON object on one line
	Only       = "kubetest.toa.io/only"        // on a namespace: a pattern of pod names, as in path.Match
)

// Namespace returns the name of a new namespace, ready for pods, that is deleted
// when the test ends. Nobody waits until it is gone.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	namespaces := c.Client.CoreV1().Namespaces()
	made, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create namespace: %v", err)
	}
	t.Cleanup(func() {
		if err := namespaces.Delete(context.Background(), made.Name, metav1.DeleteOptions{}); err != nil {
			t.Logf("delete namespace: %v", err)
		}
	})
	if err := c.waitForServiceAccount(t.Context(), made.Name); err != nil {
		t.Fatal(err)
	}
	return made.Name
}

// waitForServiceAccount returns when pods are admitted: a controller makes the
// account that they run under.
func (c *Cluster) waitForServiceAccount(ctx context.Context, namespace string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, last = c.Client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for service account: %w (%w)", err, last)
	}
	return nil
}

// Misbehave sets annotations of a namespace, which hold for pods that start from
// now on. An empty value takes one away.
func (c *Cluster) Misbehave(t testing.TB, namespace string, annotations map[string]string) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		object, err := c.Client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for name, value := range annotations {
			metav1.SetMetaDataAnnotation(&object.ObjectMeta, name, value)
		}
		_, err = c.Client.CoreV1().Namespaces().Update(t.Context(), object, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatalf("annotate namespace: %v", err)
	}
}

// Grant gives the deployer rights in a namespace, and no others than it got
// there before, and returns the configuration of its clients.
func (c *Cluster) Grant(t testing.TB, namespace string, rules ...rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{GenerateName: "granted-", Namespace: namespace}, Rules: rules}
	role, err := c.Client.RbacV1().Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create role: %v", err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name, Namespace: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: Deployer}},
	}
	if _, err := c.Client.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create role binding: %v", err)
	}
	config, err := c.config(Deployer)
	if err != nil {
		t.Fatalf("read kubeconfig: %v", err)
	}
	return config
}
