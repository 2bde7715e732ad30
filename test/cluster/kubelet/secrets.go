package kubelet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pullSecrets are those that a pod names, which has those of its service account
// already. One that does not exist is passed over, as the real kubelet does.
func (k *Kubelet) pullSecrets(ctx context.Context, pod *corev1.Pod) ([]corev1.Secret, error) {
	var list []corev1.Secret
	for _, ref := range pod.Spec.ImagePullSecrets {
		secret, err := k.client.CoreV1().Secrets(pod.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			k.events.Eventf(pod, corev1.EventTypeWarning, "FailedToRetrieveImagePullSecret",
				"Unable to retrieve some image pull secrets (%s); attempting to pull the image may not succeed.", ref.Name)
		case err != nil:
			return nil, fmt.Errorf("get pull secret: %w", err)
		default:
			list = append(list, *secret)
		}
	}
	return list, nil
}
