package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// By these Helm knows which release an object belongs to.
const (
	managedBy      = "app.kubernetes.io/managed-by"
	ownerName      = "meta.helm.sh/release-name"
	ownerNamespace = "meta.helm.sh/release-namespace"
)

// OwnersError names objects that are in the way because they belong to others.
type OwnersError struct {
	Release, Namespace string
	// Objects are such as "Service gateway (release market)".
	Objects []string
}

func (e *OwnersError) Error() string {
	return fmt.Sprintf("in namespace %s there is already, and not of release %s: %s", e.Namespace, e.Release, enumerate(e.Objects, ", "))
}

// Hint says how to go on.
func (e *OwnersError) Hint() string {
	return "release to another namespace, or delete what is in the way"
}

// foreign says whom an object belongs to, or nothing where that is the release.
func foreign(live *unstructured.Unstructured, release, namespace string) string {
	annotations := live.GetAnnotations()
	name, at := annotations[ownerName], annotations[ownerNamespace]
	switch {
	case name == release && at == namespace && live.GetLabels()[managedBy] == "Helm":
		return ""
	case name == "":
		return "of no release"
	case at != namespace:
		return "release " + name + " of namespace " + at
	case name != release:
		return "release " + name
	}
	return "its label " + managedBy + " was changed"
}

// owned is an object with the marks of the release that it belongs to, as Helm
// puts them on everything that it applies.
func owned(object *unstructured.Unstructured, release, namespace string) *unstructured.Unstructured {
	marked := object.DeepCopy()
	labels := marked.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[managedBy] = "Helm"
	marked.SetLabels(labels)
	annotations := marked.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ownerName], annotations[ownerNamespace] = release, namespace
	marked.SetAnnotations(annotations)
	return marked
}
