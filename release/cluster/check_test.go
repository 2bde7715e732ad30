package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"toa.io/toa/internal/kubetest"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
)

// check wants an error of one type, and returns it.
func check[E error](b *bed, units []unit, documents ...string) E {
	b.Helper()
	err := b.Check(b.TB.Context(), b.chart(units, documents...), false)
	var want E
	if !errors.As(err, &want) {
		b.Fatalf("Check = %v, want a %T", err, want)
	}
	return want
}

func TestCheckFindsNothingWrong(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	unbuilt := "registry.example.com/shop/edge:0011@" + orchestrator.Placeholder
	c := b.chart([]unit{{name: "edge", image: unbuilt}}, configMap("map", "1"))
	if err := b.Check(t.Context(), c, false); err != nil {
		t.Errorf("Check = %v, want nothing wrong", err)
	}
	if b.deployment("edge") != nil || b.config("map") != nil {
		t.Error("Check made objects")
	}
}

// Objects that are as they will be are not asked about again.
func TestCheckOfAnUpgradeTakesFewRequests(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var units []unit
	for i := range 12 {
		units = append(units, unit{name: fmt.Sprint("edge-", i), replicas: "0"})
	}
	b.apply(b.order("one", b.chart(units)))
	fresh := opened(t, b.Target)
	units[3].env = map[string]string{"LEVEL": "debug"}
	if err := fresh.Check(t.Context(), b.chart(units), false); err != nil {
		t.Fatal(err)
	}
	// The namespace, 36 rights, discovery (2), the release, a list, one change.
	if got, most := fresh.Requests(), int64(len(attributes("shop", "", nil))+8); got > most {
		t.Errorf("Check sent %d requests, want at most %d", got, most)
	}
}

func TestCheckTellsAllThatIsWrong(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	foreignMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "map"}}
	if _, err := b.kube.CoreV1().ConfigMaps(b.Namespace).Create(t.Context(), foreignMap, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err := b.Check(t.Context(), b.chart([]unit{{name: "edge", replicas: `"three"`}}, needy, configMap("map", noise(700<<10))), false)
	var (
		secrets *SecretsError
		size    *SizeError
		owners  *OwnersError
		objects *ObjectsError
	)
	for _, want := range []any{&secrets, &size, &owners, &objects} {
		if !errors.As(err, want) {
			t.Errorf("Check = %v, want a %T as well", err, want)
		}
	}
}

func TestCheckNamesMissingSecrets(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if err := b.Conceal(t.Context(), "amqp", map[string][]byte{"username": []byte("u")}); err != nil {
		t.Fatal(err)
	}
	got := check[*SecretsError](b, nil, needy)
	if want := []string{"all-of-it", "brought/x", "files", "pull", "toa-amqp/password"}; !slices.Equal(got.Missing, want) {
		t.Errorf("missing are %q, want %q", got.Missing, want)
	}
}

func TestCheckRefusesBadTypes(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for name, test := range map[string]struct {
		document string
		want     string
	}{
		"a word for a number": {unit{name: "edge", replicas: `"three"`}.yaml(b.image), "Deployment edge: "},
		"a negative number":   {unit{name: "edge", replicas: "-1"}.yaml(b.image), "Deployment edge: spec.replicas: "},
		"an unknown field":    {configMap("map", "1") + "dta: {a: b}\n", `ConfigMap map: `},
		"a name too long":     {configMap(strings.Repeat("x", 254), "1"), "metadata.name: "},
		"selector of others":  {strings.Replace(unit{name: "edge"}.yaml(b.image), "labels: {app: edge,", "labels: {app: other,", 1), "Deployment edge: spec.template.metadata.labels: "},
	} {
		got := check[*ObjectsError](b, nil, test.document)
		if len(got.Objects) != 1 || !strings.Contains(got.Error(), test.want) {
			t.Errorf("%s: Check = %v, want one refusal with %q", name, got, test.want)
		}
	}
}

func TestCheckRefusesWhatMayNotChange(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.apply(b.order("one", b.chart([]unit{{name: "edge", replicas: "0"}, {name: "same", replicas: "0"}})))
	got := check[*ObjectsError](b, []unit{{name: "edge", replicas: "0", selector: "another"}, {name: "same", replicas: "0"}})
	if want := "the API server would refuse Deployment edge: spec.selector: field is immutable"; got.Error() != want {
		t.Errorf("Check = %v, want %s", got, want)
	}
	if !strings.Contains(got.Hint(), "kubectl delete deployment edge") {
		t.Errorf("the hint is %q", got.Hint())
	}
}

func TestCheckSaysWhoseObjectsAreInTheWay(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	market := b.Target
	market.Name = "market"
	other := &bed{TB: t, Cluster: opened(t, market), image: b.image}
	other.apply(other.order("one", other.chart(nil, configMap("theirs", "1"))))
	byHand := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}}
	if _, err := b.kube.CoreV1().ConfigMaps(b.Namespace).Create(t.Context(), byHand, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got := check[*OwnersError](b, nil, configMap("theirs", "2"), configMap("by-hand", "2"), configMap("ours", "2"))
	if want := []string{"ConfigMap theirs (release market)", "ConfigMap by-hand (of no release)"}; !sameElements(got.Objects, want) {
		t.Errorf("in the way are %q, want %q", got.Objects, want)
	}
}

func sameElements(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func TestCheckOfAMissingNamespace(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.Namespace = "missing-" + b.Namespace
	missing := check[*NamespaceError](b, []unit{{name: "edge"}})
	if missing.Namespace != b.Namespace {
		t.Errorf("the error names %s, want %s", missing.Namespace, b.Namespace)
	}
	if err := b.Check(t.Context(), b.chart([]unit{{name: "edge"}}), true); err != nil {
		t.Errorf("Check = %v, want nothing wrong with a namespace that will be made", err)
	}
	err := b.Check(t.Context(), b.chart([]unit{{name: "edge", replicas: "-1"}}), true)
	var objects *ObjectsError
	if !errors.As(err, &objects) {
		t.Errorf("Check = %v, want the object to be judged although its namespace is missing", err)
	}
	if _, err := b.kube.CoreV1().Namespaces().Get(t.Context(), b.Namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace: %v, want that it was not made", err)
	}
}

func TestCheckOfAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	nowhere := opened(t, release.Target{Kubeconfig: kubeconfigOfNobody(t), Context: "nowhere", Name: "shop"})
	err := nowhere.Check(t.Context(), b.chart(nil, configMap("map", "1")), false)
	var unreachable *UnreachableError
	if !errors.As(err, &unreachable) {
		t.Errorf("Check = %v, want an *UnreachableError", err)
	}
}

func TestDryRunOfAManifest(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if err := b.DryRun(t.Context(), configMap("map", "1")); err != nil {
		t.Errorf("DryRun = %v, want nothing wrong", err)
	}
	if err := b.DryRun(t.Context(), "apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: x}\n"); err == nil || !strings.Contains(err.Error(), "Unknown x") {
		t.Errorf("DryRun = %v, want an error that names the object", err)
	}
	if b.config("map") != nil {
		t.Error("DryRun made an object")
	}
}

func TestDiffWithTheCluster(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	young := b.render(nil, configMap("map", "2"))
	changes, err := b.Diff(t.Context(), young.Manifest)
	if err != nil || len(changes) != 1 || changes[0].Action != Added {
		t.Errorf("Diff = %+v, %v, want that all is added", changes, err)
	}
	b.apply(b.order("one", b.chart(nil, configMap("map", "1"))))
	changes, err = b.Diff(t.Context(), young.Manifest)
	if err != nil || len(changes) != 1 || !strings.Contains(changes[0].Text, "-  key: \"1\"\n+  key: \"2\"\n") {
		t.Errorf("Diff = %+v, %v, want the change of the key", changes, err)
	}
	b.apply(b.order("two", b.chart(nil, configMap("map", "2"))))
	if changes, err = b.Diff(t.Context(), young.Manifest); err != nil || len(changes) > 0 {
		t.Errorf("Diff = %+v, %v, want nothing", changes, err)
	}
}

// The Role that is shipped is enough for a release, and Check knows each right
// of it: whichever is taken away is named, and no other.
func TestRole(t *testing.T) {
	t.Parallel()
	shared := kubetest.Shared(t)
	b := bedIn(t, shared)
	deployer := &bed{TB: t, image: b.image, Cluster: opened(t, release.Target{
		Kubeconfig: shared.Kubeconfig, Context: kubetest.Deployer, Namespace: b.Namespace, Name: "shop",
	})}
	ingress := "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: edge}\nspec: {defaultBackend: {service: {name: edge, port: {number: 80}}}}\n"
	c := b.chart([]unit{{name: "edge"}}, configMap("map", "1"), ingress)

	grant(b, Role(b.Namespace, "shop"))
	deployer.allowed(func(err error) bool { return err == nil }, c)
	deployer.apply(deployer.order("one", c))
	if err := deployer.Conceal(t.Context(), "amqp", map[string][]byte{"password": []byte("p")}); err != nil {
		t.Error(err)
	}
	if lines := deployer.Evidence(t.Context(), b.render([]unit{{name: "edge"}}).Manifest); len(lines) > 0 {
		t.Errorf("Evidence of what is ready is %q, want none", lines)
	}

	for _, right := range attributes("shop", b.Namespace, b.render(nil, ingress).Objects) {
		grant(b, without(t, Role(b.Namespace, "shop"), right))
		deployer.allowed(func(err error) bool {
			var access *AccessError
			return errors.As(err, &access) && slices.Equal(access.Missing, []string{describe(right)})
		}, c)
	}
}
