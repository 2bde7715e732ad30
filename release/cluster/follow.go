package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// What is seen within gathering is looked at together; and there is a look
// every interval although nothing was seen, because time passes too.
const (
	gathering = 100 * time.Millisecond
	interval  = time.Second
)

// followed is a kind of which a mirror can be kept.
type followed struct {
	resource string
	example  runtime.Object
	client   func(kubernetes.Interface) rest.Interface
}

func coreAPI(k kubernetes.Interface) rest.Interface  { return k.CoreV1().RESTClient() }
func appsAPI(k kubernetes.Interface) rest.Interface  { return k.AppsV1().RESTClient() }
func batchAPI(k kubernetes.Interface) rest.Interface { return k.BatchV1().RESTClient() }

var followable = map[string]followed{
	"Pod":                   {"pods", &corev1.Pod{}, coreAPI},
	"Service":               {"services", &corev1.Service{}, coreAPI},
	"PersistentVolumeClaim": {"persistentvolumeclaims", &corev1.PersistentVolumeClaim{}, coreAPI},
	"Deployment":            {"deployments", &appsv1.Deployment{}, appsAPI},
	"ReplicaSet":            {"replicasets", &appsv1.ReplicaSet{}, appsAPI},
	"StatefulSet":           {"statefulsets", &appsv1.StatefulSet{}, appsAPI},
	"DaemonSet":             {"daemonsets", &appsv1.DaemonSet{}, appsAPI},
	"Job":                   {"jobs", &batchv1.Job{}, batchAPI},
}

// mirror is a copy of what a namespace holds of some kinds, by kind.
type mirror map[string]cache.Store

// follow keeps a mirror of the namespace, and shows it whenever it changed,
// until look is done. One watch for each kind does it, however many objects
// there are; a watch that breaks is taken up again. What ends ctx is returned,
// and so is an API server's no.
func (c *Cluster) follow(ctx context.Context, kinds []string, look func(mirror) (done bool, err error)) error {
	// What the client library would log of broken watches is no news: they are
	// taken up again.
	ctx, stop := context.WithCancelCause(klog.NewContext(ctx, klog.New(nil)))
	var watches sync.WaitGroup
	defer watches.Wait()
	defer stop(nil)
	copies, changed := mirror{}, make(chan struct{}, 1)
	synced := make([]cache.InformerSynced, len(kinds))
	for i, kind := range kinds {
		informer, err := c.informer(followable[kind], changed, stop)
		if err != nil {
			return err
		}
		copies[kind], synced[i] = informer.GetStore(), informer.HasSynced
		watches.Go(func() { informer.RunWithContext(ctx) })
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return context.Cause(ctx)
	}
	return watchOver(ctx, changed, func() (bool, error) { return look(copies) })
}

// informer keeps the mirror of one kind. It tells of changes, and stops
// everything when the API server says no.
func (c *Cluster) informer(kind followed, changed chan<- struct{}, stop context.CancelCauseFunc) (cache.SharedInformer, error) {
	source := cache.NewFilteredListWatchFromClient(kind.client(c.kube), kind.resource, c.Namespace, readFresh)
	informer := cache.NewSharedInformer(source, kind.example, 0)
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { tell() },
		UpdateFunc: func(any, any) { tell() },
		DeleteFunc: func(any) { tell() },
	})
	return informer, errors.Join(err,
		informer.SetTransform(lean),
		informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
				stop(c.fault("watch "+kind.resource, err))
			}
		}))
}

// lean drops what nobody looks at, which is most of it.
func lean(object any) (any, error) {
	if described, err := meta.Accessor(object); err == nil {
		described.SetManagedFields(nil)
	}
	if set, ok := object.(*appsv1.ReplicaSet); ok {
		set.Spec.Template = corev1.PodTemplateSpec{}
	}
	return object, nil
}

// snapshot is a mirror of the namespace at this moment.
func (c *Cluster) snapshot(ctx context.Context, kinds []string) (m mirror, err error) {
	err = c.follow(ctx, kinds, func(now mirror) (bool, error) {
		m = now
		return true, nil
	})
	return m, err
}

// readFresh keeps a list from being answered out of an API server's memory,
// which may not have heard yet of what was just applied.
func readFresh(o *metav1.ListOptions) {
	if o.ResourceVersion == "0" {
		o.ResourceVersion = ""
	}
}

// watchOver looks after every change until it is done.
func watchOver(ctx context.Context, changed <-chan struct{}, look func() (bool, error)) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if done, err := look(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-changed:
			_ = pause(ctx, gathering)
		}
	}
}
