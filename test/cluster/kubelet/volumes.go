package kubelet

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mount looks for what a pod's volumes are made of: no container is started
// before all of it is there.
func (k *Kubelet) mount(ctx context.Context, pod *corev1.Pod) error {
	from := &references{kubelet: k, namespace: pod.Namespace}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if err := from.volume(ctx, volume.VolumeSource); err != nil {
			return fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", volume.Name, err)
		}
	}
	return nil
}

func (r *references) volume(ctx context.Context, source corev1.VolumeSource) error {
	switch {
	case source.ConfigMap != nil:
		values, err := r.files(ctx, source.ConfigMap.Name)
		return items(values, err, source.ConfigMap.Items, source.ConfigMap.Optional)
	case source.Secret != nil:
		values, err := r.secret(ctx, source.Secret.SecretName)
		return items(values, err, source.Secret.Items, source.Secret.Optional)
	case source.Projected != nil:
		return r.projected(ctx, source.Projected.Sources)
	}
	return nil
}

func (r *references) projected(ctx context.Context, sources []corev1.VolumeProjection) error {
	for _, s := range sources {
		var err error
		switch {
		case s.ConfigMap != nil:
			values, failed := r.files(ctx, s.ConfigMap.Name)
			err = items(values, failed, s.ConfigMap.Items, s.ConfigMap.Optional)
		case s.Secret != nil:
			values, failed := r.secret(ctx, s.Secret.Name)
			err = items(values, failed, s.Secret.Items, s.Secret.Optional)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// items checks that all keys are there that a volume names.
func items(values map[string]string, err error, keys []corev1.KeyToPath, optional *bool) error {
	if err != nil {
		return unless(optional, err)
	}
	for _, item := range keys {
		if _, found := values[item.Key]; !found && !is(optional) {
			return fmt.Errorf("references non-existent key: %s", item.Key)
		}
	}
	return nil
}

// files are the keys of a ConfigMap, text or not.
func (r *references) files(ctx context.Context, name string) (map[string]string, error) {
	object, err := r.kubelet.client.CoreV1().ConfigMaps(r.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	values := maps.Clone(object.Data)
	if values == nil {
		values = map[string]string{}
	}
	for key, value := range object.BinaryData {
		values[key] = string(value)
	}
	return values, nil
}
