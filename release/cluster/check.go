package cluster

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"toa.io/toa/chart"
)

// Check finds what would keep a chart from landing: rights and secrets that are
// missing, a release that Kubernetes has no room to keep or that others work on,
// objects that others own or that the API server refuses. It changes nothing.
// All that is found wrong is joined; each error has a hint.
func (c *Cluster) Check(ctx context.Context, ch *chart.Chart, createNamespace bool) error {
	rendered, err := Render(ch, c.Namespace)
	if err != nil {
		return err
	}
	present, err := c.hasNamespace(ctx)
	if err != nil {
		return err
	}
	if !present && !createNamespace {
		return &NamespaceError{Namespace: c.Namespace}
	}
	access := c.checkAccess(ctx, rendered.Objects, !present)
	wrong := errors.Join(access, c.checkSecrets(ctx, rendered.Objects), rendered.checkSize())
	if access != nil {
		return wrong // without rights every other answer would be the same
	}
	wrong = errors.Join(wrong, c.pending(ctx))
	if !present {
		return errors.Join(wrong, c.checkElsewhere(ctx, rendered.Objects))
	}
	return errors.Join(wrong, c.checkObjects(ctx, rendered.Objects))
}

// hasNamespace tells whether the namespace is there. Who may not see it is
// taken to know.
func (c *Cluster) hasNamespace(ctx context.Context) (bool, error) {
	_, err := c.kube.CoreV1().Namespaces().Get(ctx, c.Namespace, metav1.GetOptions{})
	switch {
	case err == nil, apierrors.IsForbidden(err):
		return true, nil
	case apierrors.IsNotFound(err):
		return false, nil
	}
	return false, c.fault("look for namespace "+c.Namespace, err)
}
