package kubelet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// environment is what a container would find, but for the variables of services,
// fields and resources. Values are expanded by the code of the real kubelet.
func (k *Kubelet) environment(ctx context.Context, pod *corev1.Pod, spec *corev1.Container) (map[string]string, error) {
	from := &references{kubelet: k, namespace: pod.Namespace}
	env := map[string]string{}
	for _, source := range spec.EnvFrom {
		values, err := from.all(ctx, source)
		if err != nil {
			return nil, err
		}
		for key, value := range values {
			env[source.Prefix+key] = value
		}
	}
	for _, variable := range spec.Env {
		value, found, err := from.one(ctx, variable, env)
		if err != nil {
			return nil, err
		}
		if found {
			env[variable.Name] = value
		}
	}
	return env, nil
}

// references reads the objects that a container names.
type references struct {
	kubelet   *Kubelet
	namespace string
}

func (r *references) one(ctx context.Context, v corev1.EnvVar, before map[string]string) (value string, found bool, err error) {
	switch {
	case v.Value != "" || v.ValueFrom == nil:
		return expansion.Expand(v.Value, expansion.MappingFuncFor(before)), true, nil
	case v.ValueFrom.SecretKeyRef != nil:
		ref := v.ValueFrom.SecretKeyRef
		values, err := r.secret(ctx, ref.Name)
		return pick(values, err, ref.Key, "Secret "+r.namespace+"/"+ref.Name, ref.Optional)
	case v.ValueFrom.ConfigMapKeyRef != nil:
		ref := v.ValueFrom.ConfigMapKeyRef
		values, err := r.configMap(ctx, ref.Name)
		return pick(values, err, ref.Key, "ConfigMap "+r.namespace+"/"+ref.Name, ref.Optional)
	}
	return "", false, nil
}

func (r *references) all(ctx context.Context, source corev1.EnvFromSource) (map[string]string, error) {
	switch {
	case source.SecretRef != nil:
		values, err := r.secret(ctx, source.SecretRef.Name)
		return values, unless(source.SecretRef.Optional, err)
	case source.ConfigMapRef != nil:
		values, err := r.configMap(ctx, source.ConfigMapRef.Name)
		return values, unless(source.ConfigMapRef.Optional, err)
	}
	return nil, nil
}

// pick finds a key. It words a missing one as the real kubelet does.
func pick(values map[string]string, err error, key, of string, optional *bool) (value string, found bool, _ error) {
	if err != nil {
		return "", false, unless(optional, err)
	}
	if value, found = values[key]; !found && !is(optional) {
		return "", false, fmt.Errorf("couldn't find key %s in %s", key, of)
	}
	return value, found, nil
}

// unless makes nothing of what is optional and does not exist.
func unless(optional *bool, err error) error {
	if is(optional) && apierrors.IsNotFound(err) {
		return nil
	}
	return named(err)
}

func is(b *bool) bool { return b != nil && *b }

// named leaves what the API server says of an object that does not exist
// without the words around it, as the real kubelet does.
func named(err error) error {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return err
	}
	details := status.Status().Details
	return fmt.Errorf("%s %q not found", strings.TrimSuffix(details.Kind, "s"), details.Name)
}

func (r *references) secret(ctx context.Context, name string) (map[string]string, error) {
	secret, err := r.kubelet.client.CoreV1().Secrets(r.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(secret.Data))
	for key, value := range secret.Data {
		values[key] = string(value)
	}
	return values, nil
}

// configMap is the text of a ConfigMap; what is in binaryData is no variable.
func (r *references) configMap(ctx context.Context, name string) (map[string]string, error) {
	object, err := r.kubelet.client.CoreV1().ConfigMaps(r.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return object.Data, nil
}
