package cluster

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestForeign(t *testing.T) {
	made := func(label, name, namespace string) *unstructured.Unstructured {
		object := new(unstructured.Unstructured)
		object.SetLabels(map[string]string{managedBy: label})
		object.SetAnnotations(map[string]string{ownerName: name, ownerNamespace: namespace})
		return object
	}
	for name, test := range map[string]struct {
		object *unstructured.Unstructured
		want   string
	}{
		"ours":                 {made("Helm", "shop", "prod"), ""},
		"another release's":    {made("Helm", "market", "prod"), "release market"},
		"another namespace's":  {made("Helm", "shop", "staging"), "release shop of namespace staging"},
		"its label is changed": {made("argocd", "shop", "prod"), "its label app.kubernetes.io/managed-by was changed"},
		"nobody's":             {new(unstructured.Unstructured), "of no release"},
	} {
		if got := foreign(test.object, "shop", "prod"); got != test.want {
			t.Errorf("%s: foreign = %q, want %q", name, got, test.want)
		}
	}
}

func TestOwnedIsACopyThatIsOurs(t *testing.T) {
	object := new(unstructured.Unstructured)
	if got := foreign(owned(object, "shop", "prod"), "shop", "prod"); got != "" {
		t.Errorf("foreign(owned) = %q, want it to be ours", got)
	}
	if len(object.GetLabels()) > 0 || len(object.GetAnnotations()) > 0 {
		t.Errorf("owned changed its argument: %v", object.Object)
	}
}

func TestEnumerate(t *testing.T) {
	items := []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"}
	if got, want := enumerate(items, ", "), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, and 2 more"; got != want {
		t.Errorf("enumerate = %q, want %q", got, want)
	}
	if got, want := enumerate(items[:2], ", "), "1, 2"; got != want {
		t.Errorf("enumerate = %q, want %q", got, want)
	}
}
