package cluster

import (
	"fmt"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
)

// split tells the objects of one kind that merging would change from those that
// it would leave as they are. It asks for all of them at once, where Helm asks
// three times for each. A few are left to Helm: the namespace may hold many of
// that kind which are nobody's business.
func split(original, target kube.ResourceList) (changed, unchanged kube.ResourceList, err error) {
	if len(target) <= fewObjects {
		return target, nil, nil
	}
	live, err := liveByName(target[0])
	if err != nil {
		return nil, nil, err
	}
	for _, object := range target {
		same, err := stands(original.Get(object), object, live[object.Name])
		if err != nil {
			return nil, nil, fmt.Errorf("compare %s: %w", object.ObjectName(), err)
		}
		if same && object.Namespace == target[0].Namespace {
			unchanged.Append(object)
		} else {
			changed.Append(object)
		}
	}
	return changed, unchanged, nil
}

// liveByName is all that the cluster has of an object's kind in its namespace.
func liveByName(of *resource.Info) (map[string]*unstructured.Unstructured, error) {
	version := of.Mapping.GroupVersionKind.GroupVersion().String()
	found, err := resource.NewHelper(of.Client, of.Mapping).List(of.Namespace, version, &metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", of.Mapping.Resource.Resource, err)
	}
	live := map[string]*unstructured.Unstructured{}
	if list, ok := found.(*unstructured.UnstructuredList); ok {
		for i := range list.Items {
			live[list.Items[i].GetName()] = &list.Items[i]
		}
	}
	return live, nil
}

// stands tells whether merging an object into what is live would change nothing.
func stands(before, target *resource.Info, live *unstructured.Unstructured) (bool, error) {
	if before == nil || live == nil {
		return false, nil
	}
	deployed, known := before.Object.(*unstructured.Unstructured)
	object, alike := target.Object.(*unstructured.Unstructured)
	if !known || !alike {
		return false, nil
	}
	patch, _, err := change{object: object, deployed: deployed, live: live}.patch(object)
	return string(patch) == "{}", err
}
