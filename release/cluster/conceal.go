package cluster

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
)

// concealed begins the names of the secrets that Conceal makes.
const concealed = "toa-"

// contention waits two seconds at most in all.
var contention = wait.Backoff{Steps: 12, Duration: 10 * time.Millisecond, Factor: 1.5, Jitter: 0.5}

// Conceal puts pairs into the secret "toa-<secret>" of the namespace, which is
// made where it is missing. Its other keys stay. Calls overlap, of several
// processes too: no pair of any is lost.
func (c *Cluster) Conceal(ctx context.Context, secret string, pairs map[string][]byte) error {
	name := concealed + secret
	again := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	err := retry.OnError(contention, again, func() error { return c.merge(ctx, name, pairs) })
	if err != nil {
		return c.fault("conceal in secret "+name+" of namespace "+c.Namespace, err)
	}
	return nil
}

// merge adds pairs to a secret, or fails with a conflict if another did at the
// same time.
func (c *Cluster) merge(ctx context.Context, name string, pairs map[string][]byte) error {
	secrets := c.kube.CoreV1().Secrets(c.Namespace)
	present, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Type:       corev1.SecretTypeOpaque,
			Data:       pairs,
		}, metav1.CreateOptions{FieldManager: manager})
		return err
	}
	if err != nil {
		return err
	}
	if present.Data == nil {
		present.Data = map[string][]byte{}
	}
	maps.Copy(present.Data, pairs)
	_, err = secrets.Update(ctx, present, metav1.UpdateOptions{FieldManager: manager})
	return err
}

// Reveal returns what the secret "toa-<secret>" of the namespace holds; nil
// where there is none.
func (c *Cluster) Reveal(ctx context.Context, secret string) (map[string][]byte, error) {
	name := concealed + secret
	present, err := c.kube.CoreV1().Secrets(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.fault("reveal secret "+name+" of namespace "+c.Namespace, err)
	}
	return present.Data, nil
}
