package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// atOnce bounds how many requests of one kind are on their way.
const atOnce = 16

// AccessError names the rights that a release lacks.
type AccessError struct {
	Namespace string
	// Missing are rights such as "patch deployments.apps".
	Missing []string
}

func (e *AccessError) Error() string {
	return fmt.Sprintf("no right, in namespace %s, to %s", e.Namespace, strings.Join(e.Missing, ", "))
}

// Hint says how to get them.
func (e *AccessError) Hint() string {
	return "`toa export role` prints a Role that is enough: have it applied and bound to you"
}

// checkAccess asks the API server whether it would let us do what the release
// does. Kinds of which the chart has no object are not asked for.
func (c *Cluster) checkAccess(ctx context.Context, objects []*unstructured.Unstructured, makesNamespace bool) error {
	wanted := attributes(c.Name, c.Namespace, objects)
	if makesNamespace {
		wanted = append(wanted, authorization.ResourceAttributes{Verb: "create", Resource: "namespaces"})
	}
	allowed := make([]bool, len(wanted))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, attribute := range wanted {
		group.Go(func() (err error) {
			allowed[i], err = c.may(ctx, attribute)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return c.fault("ask what may be done in namespace "+c.Namespace, err)
	}
	missing := &AccessError{Namespace: c.Namespace}
	for i, attribute := range wanted {
		if !allowed[i] {
			missing.Missing = append(missing.Missing, describe(attribute))
		}
	}
	if len(missing.Missing) > 0 {
		return missing
	}
	return nil
}

func (c *Cluster) may(ctx context.Context, attribute authorization.ResourceAttributes) (bool, error) {
	review := &authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: &attribute}}
	answer, err := c.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}

// attributes are the rights one by one, as the API server is asked for them.
func attributes(release, namespace string, objects []*unstructured.Unstructured) []authorization.ResourceAttributes {
	var all []authorization.ResourceAttributes
	for _, r := range rights {
		if !r.needed(objects) {
			continue
		}
		resource, sub, _ := strings.Cut(r.resource, "/")
		for _, verb := range r.verbs {
			attribute := authorization.ResourceAttributes{Namespace: namespace, Verb: verb, Group: r.group, Resource: resource, Subresource: sub}
			if r.lease {
				attribute.Name = leaseName(release)
			}
			all = append(all, attribute)
		}
	}
	return all
}

// needed tells whether a release of these objects uses a right. A chart without
// an ingress is released by who may not make one.
func (r right) needed(objects []*unstructured.Unstructured) bool {
	return r.resource != "ingresses" || slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Ingress" })
}

func describe(a authorization.ResourceAttributes) string {
	text := a.Verb + " " + a.Resource
	if a.Group != "" {
		text += "." + a.Group
	}
	if a.Subresource != "" {
		text += "/" + a.Subresource
	}
	if a.Name != "" {
		text += " " + a.Name
	}
	return text
}
