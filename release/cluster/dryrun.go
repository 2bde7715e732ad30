package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// ObjectsError names objects that the API server refuses.
type ObjectsError struct{ Objects []Refusal }

// Refusal is why one object is refused.
type Refusal struct {
	// Object is such as "Deployment composition-edge".
	Object string
	// Causes are the API server's, with the fields that they are about.
	Causes []string
	// Immutable says that the object would have to be made anew.
	Immutable bool
}

func (e *ObjectsError) Error() string {
	lines := make([]string, len(e.Objects))
	for i, r := range e.Objects {
		lines[i] = r.Object + ": " + strings.Join(r.Causes, ", ")
	}
	return "the API server would refuse " + enumerate(lines, "; ")
}

// Hint says how to go on where something may not change.
func (e *ObjectsError) Hint() string {
	for _, r := range e.Objects {
		if kind, name, _ := strings.Cut(r.Object, " "); r.Immutable {
			return fmt.Sprintf("what may not change has to be made anew: `kubectl delete %s %s`, and release again; its pods are gone in between", strings.ToLower(kind), name)
		}
	}
	return ""
}

// DryRun has the API server judge what applying a manifest would do to the
// namespace, object by object, and changes nothing. Objects that are there
// already are compared with what the deployed revision made them, as Helm does.
// The error is an *ObjectsError, an *OwnersError, or both joined.
func (c *Cluster) DryRun(ctx context.Context, manifest string) error {
	objects, err := Objects(manifest)
	if err != nil {
		return err
	}
	return c.checkObjects(ctx, objects)
}

func (c *Cluster) checkObjects(ctx context.Context, objects []*unstructured.Unstructured) error {
	changes, err := c.changes(ctx, objects)
	if err != nil {
		return err
	}
	owners := &OwnersError{Release: c.Name, Namespace: c.Namespace}
	var ours []change
	for _, ch := range changes {
		if ch.live == nil {
			ours = append(ours, ch)
		} else if owner := foreign(ch.live, c.Name, c.Namespace); owner == "" {
			ours = append(ours, ch)
		} else {
			owners.Objects = append(owners.Objects, title(ch.object)+" ("+owner+")")
		}
	}
	err = c.tryAll(ctx, ours, nobody)
	if len(owners.Objects) > 0 {
		err = errors.Join(owners, err)
	}
	return err
}

// checkElsewhere judges the objects of a namespace that is still to be made, in
// one that every cluster has. Nothing is said where that is not allowed.
func (c *Cluster) checkElsewhere(ctx context.Context, objects []*unstructured.Unstructured) error {
	elsewhere := *c
	elsewhere.Namespace = metav1.NamespaceDefault
	changes, err := elsewhere.placed(objects)
	if err != nil {
		return err
	}
	return elsewhere.tryAll(ctx, changes, apierrors.IsForbidden)
}

func nobody(error) bool { return false }

// tryAll has the API server judge changes, several at a time, and passes over
// some of its answers.
func (c *Cluster) tryAll(ctx context.Context, changes []change, over func(error) bool) error {
	refusals := make([]*Refusal, len(changes))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, ch := range changes {
		group.Go(func() (err error) {
			answer := c.try(ctx, ch)
			if answer == nil || over(answer) || apierrors.IsAlreadyExists(answer) {
				return nil
			}
			refusals[i], err = judge(ch.object, answer)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return c.fault("try the release without making it", err)
	}
	all := new(ObjectsError)
	for _, r := range refusals {
		if r != nil {
			all.Objects = append(all.Objects, *r)
		}
	}
	if len(all.Objects) > 0 {
		return all
	}
	return nil
}

// try sends the request that the release will send, which changes nothing.
// Nothing is sent where nothing would change.
func (c *Cluster) try(ctx context.Context, ch change) error {
	target := owned(ch.object, c.Name, c.Namespace)
	if ch.live == nil {
		_, err := ch.client.Create(ctx, target, metav1.CreateOptions{
			DryRun: []string{metav1.DryRunAll}, FieldManager: manager, FieldValidation: metav1.FieldValidationStrict,
		})
		return err
	}
	patch, kind, err := ch.patch(target)
	if err != nil || string(patch) == "{}" {
		return err
	}
	_, err = ch.client.Patch(ctx, ch.object.GetName(), kind, patch, metav1.PatchOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: manager, FieldValidation: metav1.FieldValidationStrict,
	})
	return err
}

// patch is Helm's three-way merge: what the deployed revision said and this one
// does not is removed, what others added stays.
func (ch change) patch(target *unstructured.Unstructured) ([]byte, types.PatchType, error) {
	base := ch.deployed
	if base == nil {
		base = ch.live
	}
	var texts [3][]byte
	for i, object := range []*unstructured.Unstructured{base, target, ch.live} {
		text, err := json.Marshal(object)
		if err != nil {
			return nil, "", err
		}
		texts[i] = text
	}
	typed, err := scheme.Scheme.New(ch.object.GroupVersionKind())
	if err != nil { // not one of Kubernetes' own kinds
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(texts[0], texts[1], texts[2])
		return patch, types.MergePatchType, err
	}
	fields, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, "", err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(texts[0], texts[1], texts[2], fields, true)
	return patch, types.StrategicMergePatchType, err
}

// judge tells a refusal of the object itself from a request that went wrong.
func judge(object *unstructured.Unstructured, err error) (*Refusal, error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !refused(err) {
		return nil, fmt.Errorf("%s: %w", title(object), err)
	}
	refusal := &Refusal{Object: title(object)}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			refusal.add(cause)
		}
	}
	if len(refusal.Causes) == 0 {
		refusal.Causes = []string{status.Status().Message}
	}
	return refusal, nil
}

// refused tells whether an answer is about what the object says. Admission
// refuses with 403 as missing rights do, which checkAccess has found by then.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) || apierrors.IsRequestEntityTooLargeError(err)
}

func (r *Refusal) add(cause metav1.StatusCause) {
	const immutable = "field is immutable"
	text := cause.Message
	if strings.Contains(text, immutable) { // it repeats the whole value first
		r.Immutable, text = true, immutable
	}
	if cause.Field != "" {
		text = cause.Field + ": " + text
	}
	r.Causes = append(r.Causes, text)
}
