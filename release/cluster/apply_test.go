package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	helm "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"toa.io/toa/internal/kubetest"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
)

// Helm's words for how a revision stands.
const (
	deployed   = helm.StatusDeployed
	superseded = helm.StatusSuperseded
	failed     = helm.StatusFailed
)

func TestInstallThenNothingThenUpgrade(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	shop := b.chart([]unit{{name: "orders"}, {name: "carts"}}, configMap("components", "1"))
	made := b.apply(b.order("one", shop))
	if made.Status != orchestrator.ReleaseApplied || made.Revision != 1 || made.Namespace != b.Namespace || made.Server != b.Server {
		t.Errorf("installed as %+v", made)
	}
	b.wantStatuses(deployed)
	b.wantNobody()
	if d := b.deployment("orders"); d == nil || d.Status.ReadyReplicas != 1 {
		t.Errorf("orders is %+v, want it to be ready", d)
	}
	b.wantManager("orders")

	fresh := opened(t, b.Target)
	standing, current, err := fresh.Current(t.Context(), key("one"))
	if err != nil || !current || standing.Revision != 1 || standing.Status != orchestrator.ReleaseUnchanged {
		t.Errorf("Current = %+v, %v, %v, want revision 1 unchanged", standing, current, err)
	}
	if n := fresh.Requests(); n != 1 {
		t.Errorf("an unchanged release takes %d requests, want 1", n)
	}
	if standing, current, err := fresh.Current(t.Context(), key("two")); current || standing.Revision != 1 || err != nil {
		t.Errorf("Current of other inputs = %+v, %v, %v, want revision 1, not current", standing, current, err)
	}

	carts := b.deployment("carts")
	next := b.chart([]unit{{name: "orders", env: map[string]string{"MORE": "1"}}, {name: "carts"}}, configMap("components", "2"))
	if made := b.apply(b.order("two", next)); made.Revision != 2 {
		t.Errorf("upgraded as %+v, want revision 2", made)
	}
	b.wantStatuses(superseded, deployed)
	if got := env(b.deployment("orders"), "MORE"); got != "1" {
		t.Errorf("MORE is %q after the upgrade", got)
	}
	if got := b.deployment("carts").Generation; got != carts.Generation {
		t.Errorf("carts, which did not change, is at generation %d, was at %d", got, carts.Generation)
	}
}

// wantManager fails unless the server remembers that toa made a Deployment.
func (b *bed) wantManager(name string) {
	b.Helper()
	for _, entry := range b.deployment(name).ManagedFields {
		if entry.Manager == manager {
			return
		}
	}
	b.Errorf("no field of %s is managed by %q", name, manager)
}

// A release that was made meanwhile of the same inputs is not made again.
func TestSameInputsAreReleasedOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	order := b.order("one", b.chart(nil, configMap("a", "1")))
	b.apply(order)
	if made := b.apply(order); made.Status != orchestrator.ReleaseUnchanged || made.Revision != 1 {
		t.Errorf("released again as %+v, want revision 1 unchanged", made)
	}
	b.wantStatuses(deployed)
}

// fails releases and wants a *SettledError that says so.
func (b *bed) fails(order release.Order, settled string, says ...string) *told {
	b.Helper()
	told := new(told)
	made, err := b.Apply(b.Context(), order, told.tell)
	var settlement *SettledError
	if !errors.As(err, &settlement) {
		b.Fatalf("Apply = %+v, %v, want a settled failure", made, err)
	}
	if settlement.Settled != settled {
		b.Errorf("settled as %q, want %q", settlement.Settled, settled)
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			b.Errorf("error is %q, want %q in it", err, text)
		}
	}
	b.wantNobody()
	return told
}

func TestNeverReady(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	good := b.chart([]unit{{name: "orders"}}, configMap("a", "1"))
	bad := b.chart([]unit{{name: "orders", annotations: map[string]string{kubetest.NeverReady: "true"}}}, configMap("a", "2"), configMap("b", "2"))
	b.apply(b.order("good", good))

	order := b.order("bad", bad)
	order.Timeout, order.Atomic = 10*time.Second, true
	b.fails(order, "rolled back to revision 1", "orders")
	b.wantStatuses(superseded, failed, deployed)
	if got := b.config("a").Data["key"]; got != "1" {
		t.Errorf("a is %q after it went back, want 1", got)
	}
	if b.config("b") != nil {
		t.Error("b, which the failed revision made, is still there")
	}

	order.Atomic = false
	b.fails(order, "revision 4 marked failed, what it applied stays", "orders")
	b.wantStatuses(superseded, failed, deployed, failed)
	if _, current, err := b.Current(t.Context(), key("good")); current || err != nil {
		t.Errorf("Current = %v, %v, want that what stands is not what is deployed", current, err)
	}
}

// What a failed revision added is taken away by the next one, though Helm
// compares with the deployed revision, which knows nothing of it.
func TestLeftoversOfFailedRevisions(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	good := b.chart([]unit{{name: "orders"}}, configMap("a", "1"))
	bad := b.chart([]unit{
		{name: "orders", env: map[string]string{"LEFT": "over"}, annotations: map[string]string{kubetest.NeverReady: "true"}},
		{name: "extra"},
	}, configMap("b", "2"))
	b.apply(b.order("good", good))
	order := b.order("bad", bad)
	order.Timeout = 10 * time.Second
	b.fails(order, "revision 2 marked failed, what it applied stays")
	if b.deployment("extra") == nil || b.config("b") == nil || b.config("a") != nil {
		t.Fatal("the failed revision was not applied")
	}
	if err := b.kube.CoreV1().ConfigMaps(b.Namespace).Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "b"}} // someone else's by now
	if _, err := b.kube.CoreV1().ConfigMaps(b.Namespace).Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	b.apply(b.order("good", good))
	if got := env(b.deployment("orders"), "LEFT"); got != "" {
		t.Errorf("LEFT, which a failed revision had added, is %q", got)
	}
	if b.deployment("extra") != nil {
		t.Error("extra, which a failed revision had added, is still there")
	}
	if b.config("a") == nil {
		t.Error("a, which a failed revision had taken away, is not back")
	}
	if b.config("b") == nil {
		t.Error("b, which is someone else's, was deleted")
	}
}

// What is known of a first release that failed is told before it is removed.
func TestFailedFirstInstall(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	bad := b.chart([]unit{{name: "orders", annotations: map[string]string{kubetest.Crash: "true", kubetest.Log: "no database"}}})
	order := b.order("bad", bad)
	order.Atomic = true
	told := b.fails(order, "what it made was removed", "orders", "main")
	if !strings.Contains(told.text(), "no database") {
		t.Errorf("told was\n%s\nwant the last line of the pod", told.text())
	}
	b.wantStatuses()
	if b.deployment("orders") != nil {
		t.Error("orders is still there")
	}

	order.Atomic = false
	b.fails(order, "revision 1 marked failed, what it applied stays")
	good := b.order("good", b.chart([]unit{{name: "orders"}}))
	if made := b.apply(good); made.Revision != 2 {
		t.Errorf("released after the failure as %+v, want revision 2", made)
	}
	b.wantStatuses(superseded, deployed)
}

func TestImageIsGone(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.apply(b.order("good", b.chart([]unit{{name: "orders"}})))
	image := strings.Replace(b.image, "@sha256:", "@sha256:0000", 1)[:len(b.image)]
	began := time.Now()
	order := b.order("bad", b.chart([]unit{{name: "orders", image: image}}))
	order.Atomic, order.Timeout = true, 5*time.Minute
	b.fails(order, "rolled back to revision 1", "orders", "main", "ImagePull")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("an image that is gone was found after %s, want a minute at most", took)
	}
}

func TestRefusedObjects(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		units []unit
		says  string
	}{
		"immutable field": {[]unit{{name: "orders", selector: "other"}}, "immutable"},
		"bad type":        {[]unit{{name: "orders", replicas: "many"}}, "replicas"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.apply(b.order("good", b.chart([]unit{{name: "orders"}}, configMap("a", "1"))))
			order := b.order("bad", b.chart(test.units, configMap("a", "2")))
			order.Atomic = true
			b.fails(order, "rolled back to revision 1", test.says)
			if got := b.config("a").Data["key"]; got != "1" {
				t.Errorf("a is %q, want that it went back to 1", got)
			}
			b.wantStatuses(superseded, failed, deployed)
		})
	}
}

func TestRevisionThatWasNotPlannedFor(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	order := b.order("one", b.chart(nil, configMap("a", "1")))
	order.Deployed = 1
	_, err := b.Apply(t.Context(), order, new(told).tell)
	var moved *MovedError
	if !errors.As(err, &moved) || moved.Hint() == "" {
		t.Fatalf("Apply = %v, want that the plan is out of date", err)
	}
	b.wantStatuses()
	order.Deployed = 0
	b.apply(order)
}

func TestNamespaceIsMadeOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.Cluster.Namespace += "-none"
	b.Cluster = opened(t, b.Target)
	order := b.order("one", b.chart(nil, configMap("a", "1")))
	_, err := b.Apply(t.Context(), order, new(told).tell)
	var none *NamespaceError
	if !errors.As(err, &none) || none.Hint() == "" {
		t.Fatalf("Apply = %v, want that there is no namespace", err)
	}
	if _, current, err := b.Current(t.Context(), key("one")); current || err != nil {
		t.Errorf("Current without a namespace = %v, %v", current, err)
	}
	order.CreateNamespace = true
	b.apply(order)
	if err := b.kube.CoreV1().Namespaces().Delete(context.Background(), b.Namespace, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for i := range 5 {
		order := b.order(fmt.Sprint(i), b.chart(nil, configMap("a", fmt.Sprint(i))))
		order.History, order.Wait = 3, false
		b.apply(order)
	}
	b.wantStatuses(superseded, superseded, deployed)
}

func TestRollback(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, n := range []string{"1", "2", "3"} {
		b.apply(b.order(n, b.chart([]unit{{name: "orders"}}, configMap("a", n))))
	}
	back := b.order("", nil)
	for _, test := range []struct {
		to   int
		want string
	}{{-1, "2"}, {1, "1"}} {
		back.Rollback = test.to
		made, err := b.Rollback(t.Context(), back, new(told).tell)
		if err != nil || made.Status != orchestrator.ReleaseApplied {
			t.Fatalf("Rollback to %d = %+v, %v", test.to, made, err)
		}
		if got := b.config("a").Data["key"]; got != test.want {
			t.Errorf("after Rollback to %d a is %q, want %q", test.to, got, test.want)
		}
		if _, current, err := b.Current(t.Context(), key(test.want)); !current || err != nil {
			t.Errorf("after Rollback to %d inputs %s are current: %v, %v", test.to, test.want, current, err)
		}
	}
	b.wantStatuses(superseded, superseded, superseded, superseded, deployed)
	back.Rollback = 9
	_, err := b.Rollback(t.Context(), back, new(told).tell)
	var none *NoRevisionError
	if !errors.As(err, &none) {
		t.Errorf("Rollback to 9 = %v, want that there is none", err)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	empty, err := b.Status(t.Context())
	if err != nil || len(empty.Revisions) != 0 || empty.Deployed().Revision != 0 {
		t.Fatalf("Status of nothing = %+v, %v", empty, err)
	}
	b.apply(b.order("1", b.chart([]unit{{name: "orders"}})))
	b.apply(b.order("2", b.chart([]unit{{name: "orders"}, {name: "carts"}})))
	got, err := b.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := got.Deployed()
	if len(got.Revisions) != 2 || d.Revision != 2 || d.Chart != "shop-1.0.0" || d.Inputs != inputsValue(key("2").String()) || time.Since(d.Updated) > time.Hour {
		t.Errorf("Status = %+v", got)
	}
	if len(got.Images) != 1 || got.Images[0] != b.image {
		t.Errorf("images are %q, want %q", got.Images, b.image)
	}
	if len(got.Workloads) != 2 || got.Workloads[0].Ready != 1 || got.Holder != "" {
		t.Errorf("workloads are %+v, held by %q, want two that are ready", got.Workloads, got.Holder)
	}
}

// Labels that Helm hands on do not make a revision ours.
func TestPlainUpgradeIsNotCurrent(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.apply(b.order("one", b.chart(nil, configMap("a", "1"))))
	b.plainly(deployed, time.Now())
	if _, current, err := b.Current(t.Context(), key("one")); current || err != nil {
		t.Errorf("Current = %v, %v after someone else's upgrade, want that it is not", current, err)
	}
}
