package cluster

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// change is what applying one object would be.
type change struct {
	object *unstructured.Unstructured
	// deployed is the object as the deployed revision has it, nil where it has not.
	deployed *unstructured.Unstructured
	// live is what is in the cluster, nil where nothing is.
	live   *unstructured.Unstructured
	client dynamic.ResourceInterface
}

// handle tells objects of one release apart.
type handle struct {
	kind schema.GroupKind
	name string
}

func handleOf(object *unstructured.Unstructured) handle {
	return handle{object.GroupVersionKind().GroupKind(), object.GetName()}
}

// fewObjects of a kind are asked for one by one; more are listed, with
// whatever else of that kind is in the namespace.
const fewObjects = 8

// changes finds what is in the cluster, and in the deployed revision, of the
// objects of a release, in their order.
func (c *Cluster) changes(ctx context.Context, objects []*unstructured.Unstructured) ([]change, error) {
	changes, err := c.placed(objects)
	if err != nil {
		return nil, err
	}
	if err := c.recall(ctx, changes); err != nil {
		return nil, err
	}
	kinds := map[schema.GroupKind][]*change{}
	for i := range changes {
		kind := handleOf(changes[i].object).kind
		kinds[kind] = append(kinds[kind], &changes[i])
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, same := range kinds {
		if len(same) > fewObjects {
			group.Go(func() error { return listLive(ctx, same) })
			continue
		}
		for _, ch := range same {
			group.Go(func() error { return ch.getLive(ctx) })
		}
	}
	if err := group.Wait(); err != nil {
		return nil, c.fault("read what namespace "+c.Namespace+" holds", err)
	}
	return changes, nil
}

// placed are changes that know nothing but where their objects go.
func (c *Cluster) placed(objects []*unstructured.Unstructured) ([]change, error) {
	mapper, err := c.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	changes := make([]change, len(objects))
	for i, object := range objects {
		client, err := c.client(mapper, object)
		if err != nil {
			return nil, c.fault("find where "+title(object)+" goes", err)
		}
		changes[i] = change{object: object, client: client}
	}
	return changes, nil
}

// recall finds what the deployed revision made of the objects.
func (c *Cluster) recall(ctx context.Context, changes []change) error {
	record, err := c.deployed(ctx)
	if err != nil || record == nil {
		return err
	}
	objects, err := Objects(record.Manifest)
	if err != nil {
		return fmt.Errorf("revision %d: %w", record.Version, err)
	}
	before := map[handle]*unstructured.Unstructured{}
	for _, object := range objects {
		before[handleOf(object)] = object
	}
	for i := range changes {
		changes[i].deployed = before[handleOf(changes[i].object)]
	}
	return nil
}

// client is where objects of this kind are.
func (c *Cluster) client(mapper meta.RESTMapper, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	resources := c.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return resources, nil
	}
	return resources.Namespace(c.Namespace), nil
}

func (ch *change) getLive(ctx context.Context) error {
	live, err := ch.client.Get(ctx, ch.object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		ch.live = live
	}
	return err
}

func listLive(ctx context.Context, same []*change) error {
	list, err := same[0].client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	byName := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		byName[list.Items[i].GetName()] = &list.Items[i]
	}
	for _, ch := range same {
		ch.live = byName[ch.object.GetName()]
	}
	return nil
}
