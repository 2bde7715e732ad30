package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// SecretsError names what pods would wait for in vain.
type SecretsError struct {
	Namespace string
	// Missing are "secret/key", or "secret" where no key is asked for, sorted.
	Missing []string
}

func (e *SecretsError) Error() string {
	return fmt.Sprintf("secrets missing in namespace %s: %s", e.Namespace, strings.Join(e.Missing, ", "))
}

// Hint says how to make the first of them.
func (e *SecretsError) Hint() string {
	for _, missing := range e.Missing {
		if secret, key, ok := strings.Cut(missing, "/"); ok && strings.HasPrefix(secret, concealed) {
			return fmt.Sprintf("`toa conceal %s %s=VALUE -n %s` makes one", strings.TrimPrefix(secret, concealed), key, e.Namespace)
		}
	}
	secret, _, _ := strings.Cut(e.Missing[0], "/")
	return fmt.Sprintf("`kubectl create secret --help` says how to make %s", secret)
}

// checkSecrets looks for the secrets that pods need in order to start. What
// they hold is not kept.
func (c *Cluster) checkSecrets(ctx context.Context, objects []*unstructured.Unstructured) error {
	required, err := requiredSecrets(objects)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(required))
	missing := make([][]string, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, name := range names {
		group.Go(func() (err error) {
			missing[i], err = c.missingKeys(ctx, name, required[name])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return c.fault("look for secrets in namespace "+c.Namespace, err)
	}
	if all := slices.Concat(missing...); len(all) > 0 {
		return &SecretsError{Namespace: c.Namespace, Missing: all}
	}
	return nil
}

// missingKeys are the references to one secret that lead nowhere.
func (c *Cluster) missingKeys(ctx context.Context, name string, keys map[string]bool) ([]string, error) {
	secret, err := c.kube.CoreV1().Secrets(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, nil // which checkAccess names
	case apierrors.IsNotFound(err):
		secret = nil
	case err != nil:
		return nil, err
	}
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		switch {
		case key == "" && secret == nil:
			missing = append(missing, name)
		case key == "":
		case secret == nil || !has(secret, key):
			missing = append(missing, name+"/"+key)
		}
	}
	return missing, nil
}

func has(secret *corev1.Secret, key string) bool {
	_, ok := secret.Data[key]
	return ok
}

// requiredSecrets are the keys that pods cannot start without, by secret; the
// key is empty where the secret as a whole is meant. Secrets that are among the
// objects are not looked for.
func requiredSecrets(objects []*unstructured.Unstructured) (map[string]map[string]bool, error) {
	required := map[string]map[string]bool{}
	need := func(secret, key string) {
		if required[secret] == nil {
			required[secret] = map[string]bool{}
		}
		required[secret][key] = true
	}
	for _, object := range objects {
		pod, err := podSpec(object)
		if err != nil {
			return nil, err
		}
		if pod != nil {
			secretsOf(pod, need)
		}
	}
	for _, object := range objects {
		if object.GetKind() == "Secret" {
			delete(required, object.GetName())
		}
	}
	return required, nil
}

// podSpec is that of the pods which an object makes, nil where it makes none.
func podSpec(object *unstructured.Unstructured) (*corev1.PodSpec, error) {
	fields, ok, err := unstructured.NestedMap(object.Object, "spec", "template", "spec")
	if err != nil || !ok {
		return nil, nil //nolint:nilerr // what is no pod template is the API server's to judge
	}
	spec := new(corev1.PodSpec)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, spec); err != nil {
		return nil, fmt.Errorf("read pod template of %s: %w", title(object), err)
	}
	return spec, nil
}

func secretsOf(pod *corev1.PodSpec, need func(secret, key string)) {
	for _, pull := range pod.ImagePullSecrets {
		need(pull.Name, "")
	}
	for _, volume := range pod.Volumes {
		if s := volume.Secret; s != nil && !isTrue(s.Optional) {
			need(s.SecretName, "")
		}
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, from := range container.EnvFrom {
			if s := from.SecretRef; s != nil && !isTrue(s.Optional) {
				need(s.Name, "")
			}
		}
		for _, env := range container.Env {
			if env.ValueFrom == nil {
				continue
			}
			if s := env.ValueFrom.SecretKeyRef; s != nil && !isTrue(s.Optional) {
				need(s.Name, s.Key)
			}
		}
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

// title names an object for people: "Deployment composition-edge".
func title(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetName()
}
