package cluster

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authorization "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"toa.io/toa/chart"
	"toa.io/toa/internal/kubetest"
)

func parsed(t testing.TB, text []byte) *rbacv1.Role {
	t.Helper()
	role := new(rbacv1.Role)
	if err := yaml.UnmarshalStrict(text, role); err != nil {
		t.Fatalf("the Role is no Role: %v\n%s", err, text)
	}
	return role
}

// Nothing in the Role reaches further than it says: no wildcard, no other
// namespace, no change of anything that it does not make.
func TestRoleIsNarrow(t *testing.T) {
	text := Role("prod", "shop")
	role := parsed(t, text)
	if role.Namespace != "prod" || role.Name != "toa-shop" {
		t.Errorf("the Role is %s in %s, want toa-shop in prod", role.Name, role.Namespace)
	}
	if bytes.Contains(text, []byte("*")) {
		t.Errorf("the Role has a wildcard:\n%s", text)
	}
	for _, rule := range role.Rules {
		if slices.Contains(rule.Resources, "leases") && !slices.Equal(rule.Verbs, []string{"create"}) && !slices.Equal(rule.ResourceNames, []string{"toa-shop"}) {
			t.Errorf("the Role lets %q on any lease", rule.Verbs)
		}
	}
	if !strings.HasPrefix(string(text), "# ") {
		t.Error("the Role does not say what it is for")
	}
}

// grant makes a text the only Role of the deployer in the bed's namespace.
func grant(b *bed, text []byte) {
	b.Helper()
	role := parsed(b, text)
	if _, err := b.kube.RbacV1().Roles(b.Namespace).Update(b.TB.Context(), role, metav1.UpdateOptions{}); err != nil { // or makes it
		b.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: kubetest.Deployer}},
	}
	if _, err := b.kube.RbacV1().RoleBindings(b.Namespace).Create(b.TB.Context(), binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		b.Fatal(err)
	}
}

// without is a Role with one right less.
func without(t testing.TB, text []byte, right authorization.ResourceAttributes) []byte {
	t.Helper()
	role := parsed(t, text)
	resource := right.Resource
	if right.Subresource != "" {
		resource += "/" + right.Subresource
	}
	for i, rule := range role.Rules {
		same := slices.Equal(rule.APIGroups, []string{right.Group}) && slices.Equal(rule.Resources, []string{resource})
		if j := slices.Index(rule.Verbs, right.Verb); same && j >= 0 {
			role.Rules[i].Verbs = slices.Delete(rule.Verbs, j, j+1)
		}
	}
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return len(r.Verbs) == 0 })
	narrowed, err := yaml.Marshal(role)
	if err != nil {
		t.Fatal(err)
	}
	return narrowed
}

// allowed waits until what Check says is as wanted: the API server learns of a
// change of rights after a moment.
func (b *bed) allowed(wanted func(error) bool, c *chart.Chart) {
	b.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := b.Check(b.TB.Context(), c, false)
		if wanted(err) {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("Check = %v, which is not what is wanted", err)
		}
		if pause(b.TB.Context(), 20*time.Millisecond) != nil {
			b.Fatal("the test is over")
		}
	}
}

// kubeconfigOfNobody has one context, "nowhere", where no server answers.
func kubeconfigOfNobody(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	const text = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: none}}]
contexts: [{name: nowhere, context: {cluster: c, user: u}}]
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
