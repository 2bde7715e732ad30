package cluster

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"

	"toa.io/toa/internal/failpoint"
)

func init() { kube.ManagedFieldsManager = manager }

// batch is how many objects are sent before it is looked at whether to go on,
// and hands how many are sent at a time.
const (
	batch = 64
	hands = 16
)

// engine is Helm's client of a cluster with these changes: it stops between
// objects when the gate says so, it waits as we do, it sends several objects at
// a time and none that would change nothing, and it takes away what failed
// revisions left. Helm's interface has no
// contexts; the functions stand for them.
type engine struct {
	*kube.Client
	// gate returns why no more may be changed, or nil.
	gate func() error
	// ready waits until all that was applied is ready.
	ready func() error
	// leftovers are the manifests of failed revisions, newest first.
	leftovers []string
	name      string
	// touched says that objects may have been changed.
	touched atomic.Bool
}

// engine makes one for the release.
func (c *Cluster) engine(gate, ready func() error, leftovers []string) *engine {
	client := kube.New(c)
	client.Namespace = c.Namespace
	return &engine{Client: client, gate: gate, ready: ready, leftovers: leftovers, name: c.Name}
}

// Create makes objects, kind by kind in their order.
func (e *engine) Create(objects kube.ResourceList) (*kube.Result, error) {
	for rest := objects; len(rest) > 0; {
		n := min(batch, len(rest))
		if err := e.pass(); err != nil {
			return nil, err
		}
		if _, err := e.Client.Create(rest[:n]); err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return &kube.Result{Created: objects}, nil
}

// Update brings objects from what they were to what they become, and deletes
// those that are no more. What failed revisions left beside is compared first:
// Helm alone compares with the deployed revision, and so would leave what a
// failed one added.
func (e *engine) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	for _, manifest := range e.leftovers {
		left, err := e.Build(strings.NewReader(manifest), false)
		if err != nil {
			return &kube.Result{}, fmt.Errorf("read what a failed revision left: %w", err)
		}
		left, err = e.strays(left, original, target)
		if err != nil {
			return &kube.Result{}, err
		}
		// Merging leaves in an object what the server made of it, and the version
		// of that would be out of date when it is merged again.
		if _, err := e.merge(left, copied(target.Intersect(left)), force); err != nil {
			return &kube.Result{}, err
		}
	}
	return e.merge(original, target, force)
}

func copied(objects kube.ResourceList) kube.ResourceList {
	fresh := make(kube.ResourceList, len(objects))
	for i, object := range objects {
		info := *object
		info.Object = object.Object.DeepCopyObject()
		fresh[i] = &info
	}
	return fresh
}

// strays are the objects of a failed revision that are not as they were: those
// that the next one has too, and those that the release owns and it has not.
func (e *engine) strays(left, original, target kube.ResourceList) (kube.ResourceList, error) {
	var all kube.ResourceList
	for _, object := range left {
		if before := original.Get(object); before != nil && reflect.DeepEqual(before.Object, object.Object) {
			continue
		}
		mine, err := e.owns(object)
		if err != nil {
			return nil, err
		}
		if mine || target.Contains(object) {
			all.Append(object)
		}
	}
	return all, nil
}

// owns tells whether an object stands in the cluster and is the release's, as
// Helm notes it.
func (e *engine) owns(object *resource.Info) (bool, error) {
	live, err := resource.NewHelper(object.Client, object.Mapping).Get(object.Namespace, object.Name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", object.ObjectName(), err)
	}
	annotations, err := meta.NewAccessor().Annotations(live)
	return annotations["meta.helm.sh/release-name"] == e.name &&
		annotations["meta.helm.sh/release-namespace"] == e.Namespace, err
}

// merge updates what is in target, several at a time within a kind, and then
// deletes what is in original only.
func (e *engine) merge(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	all := &kube.Result{}
	for rest := target; len(rest) > 0; {
		n := sameKind(rest)
		if err := e.mergeBatch(all, original, rest[:n], force); err != nil {
			return all, err
		}
		rest = rest[n:]
	}
	if err := e.pass(); err != nil {
		return all, err
	}
	for _, object := range original.Difference(target) {
		deleted, err := e.discard(object)
		if err != nil {
			return all, fmt.Errorf("delete %s: %w", object.ObjectName(), err)
		}
		if deleted {
			all.Deleted.Append(object)
		}
	}
	return all, nil
}

// discard deletes an object that is there and is not marked to be kept. Helm's
// own way only logs that it could not.
func (e *engine) discard(object *resource.Info) (bool, error) {
	live, err := resource.NewHelper(object.Client, object.Mapping).Get(object.Namespace, object.Name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	annotations, err := meta.NewAccessor().Annotations(live)
	if err != nil || annotations[kube.ResourcePolicyAnno] == kube.KeepPolicy {
		return false, err
	}
	_, errs := e.Client.DeleteWithPropagationPolicy(kube.ResourceList{object}, metav1.DeletePropagationBackground)
	return true, errors.Join(errs...)
}

// mergeBatch updates objects of one kind, and goes on where one fails, so that
// all that is wrong is told at once.
func (e *engine) mergeBatch(all *kube.Result, original, target kube.ResourceList, force bool) error {
	target, unchanged, err := split(original, target)
	if err != nil {
		return err
	}
	all.Updated = append(all.Updated, unchanged...)
	results, errs := make([]*kube.Result, len(target)), make([]error, len(target))
	var group errgroup.Group
	group.SetLimit(hands)
	for i, object := range target {
		group.Go(func() error {
			one := kube.ResourceList{object}
			if errs[i] = e.pass(); errs[i] == nil {
				results[i], errs[i] = e.Client.Update(original.Intersect(one), one, force)
			}
			return nil
		})
	}
	_ = group.Wait()
	for _, r := range results {
		if r != nil {
			all.Created, all.Updated = append(all.Created, r.Created...), append(all.Updated, r.Updated...)
		}
	}
	return errors.Join(distinct(errs)...)
}

// distinct leaves out errors that say the same as one before.
func distinct(errs []error) []error {
	seen := map[string]bool{}
	var some []error
	for _, err := range errs {
		if err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			some = append(some, err)
		}
	}
	return some
}

// sameKind is how many objects at the start are of one kind.
func sameKind(objects kube.ResourceList) int {
	for i, object := range objects {
		if object.Mapping.GroupVersionKind != objects[0].Mapping.GroupVersionKind {
			return i
		}
	}
	return len(objects)
}

// Delete deletes objects.
func (e *engine) Delete(objects kube.ResourceList) (*kube.Result, []error) {
	return e.DeleteWithPropagationPolicy(objects, metav1.DeletePropagationBackground)
}

// DeleteWithPropagationPolicy deletes objects.
func (e *engine) DeleteWithPropagationPolicy(objects kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	if err := e.pass(); err != nil {
		return nil, []error{err}
	}
	return e.Client.DeleteWithPropagationPolicy(objects, policy)
}

// Wait waits until everything is ready. The limit is ours, not Helm's.
func (e *engine) Wait(kube.ResourceList, time.Duration) error { return e.ready() }

// WaitWithJobs is Wait: jobs are waited for in any case.
func (e *engine) WaitWithJobs(kube.ResourceList, time.Duration) error { return e.ready() }

// pass opens the gate for one change.
func (e *engine) pass() error {
	if err := e.gate(); err != nil {
		return err
	}
	e.touched.Store(true)
	return failpoint.At(failpoint.ObjectWrite)
}
