// Package kubelet plays the nodes of a cluster. Nothing runs on them, but what
// the API server is told of a pod is what a real kubelet would tell it: images
// are asked for at their registries, volumes and variables are looked up, a
// container that fails is restarted after a while, and what a container would
// have written can be read.
//
// A pod is healthy unless an annotation says otherwise (see [Behaviour]).
// Waiting times are a tenth of a real kubelet's, or less: tests wait too.
//
// The package knows nothing of how the control plane is started, and works with
// any API server.
package kubelet

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
)

// workers is how many pods are looked at at the same time.
const workers = 16

// Images tells whether a node could run an image.
type Images interface {
	// Pull returns the image's ID, which names its digest. The secrets are those
	// that the pod brings. Calls may overlap.
	Pull(ctx context.Context, image string, secrets []corev1.Secret) (string, error)
}

// Kubelet plays several nodes. Set its fields before Register and Run.
type Kubelet struct {
	Images Images // nil: every image is there

	client   kubernetes.Interface
	nodes    int
	listener net.Listener // for who asks for logs
	events   record.EventRecorder
	logs     logs
	queue    workqueue.TypedRateLimitingInterface[types.NamespacedName]

	mu        sync.Mutex // guards what follows
	lives     map[types.UID]*life
	addresses int // given to pods so far
}

// New returns a kubelet that listens already, and so must be run.
func New(client kubernetes.Interface, nodes int) (*Kubelet, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for log readers: %w", err)
	}
	return &Kubelet{
		client: client, nodes: nodes, listener: listener,
		events: record.NewFakeRecorder(0),
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]()),
		lives:  map[types.UID]*life{},
	}, nil
}

// Run plays the nodes until ctx ends. Everything it started has ended then.
func (k *Kubelet) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer k.record(ctx)()
	server, err := k.serveLogs()
	if err != nil {
		return err
	}
	defer server.Close()

	pods := informers.NewSharedInformerFactoryWithOptions(k.client, 0, informers.WithTweakListOptions(onNodes))
	store, err := k.watch(pods.Core().V1().Pods().Informer())
	if err != nil {
		return err
	}
	pods.StartWithContext(ctx)
	defer pods.Shutdown()
	var working sync.WaitGroup
	defer working.Wait()
	defer k.queue.ShutDown()
	defer cancel()
	for range workers {
		working.Go(func() {
			for k.next(ctx, store) {
			}
		})
	}
	<-ctx.Done()
	return nil
}

// record sends events to the cluster until the function that it returns is called.
func (k *Kubelet) record(ctx context.Context) (stop func()) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: k.client.CoreV1().Events("")})
	k.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet"})
	return broadcaster.Shutdown
}

func (k *Kubelet) serveLogs() (*http.Server, error) {
	certificate, err := selfSigned()
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: k.logs.handler(), TLSConfig: certificate, ReadHeaderTimeout: time.Minute}
	go server.ServeTLS(k.listener, "", "") //nolint:errcheck // it ends when the server is closed, and says so
	return server, nil
}

// watch has every pod that changes put into the queue.
func (k *Kubelet) watch(informer cache.SharedIndexInformer) (cache.Store, error) {
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { k.enqueue(o) },
		UpdateFunc: func(_, o any) { k.enqueue(o) },
		DeleteFunc: func(o any) { k.forget(o) },
	})
	return informer.GetStore(), err
}

func (k *Kubelet) enqueue(o any) {
	if pod, ok := o.(*corev1.Pod); ok {
		k.queue.Add(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	}
}

// next looks at one pod. It returns false when there will be no more.
func (k *Kubelet) next(ctx context.Context, store cache.Store) bool {
	key, down := k.queue.Get()
	if down {
		return false
	}
	defer k.queue.Done(key)
	o, found, err := store.GetByKey(key.String())
	if err != nil || !found {
		return true
	}
	again, err := k.sync(ctx, o.(*corev1.Pod))
	if err != nil {
		k.queue.AddRateLimited(key)
		return true
	}
	k.queue.Forget(key)
	if again > 0 {
		k.queue.AddAfter(key, again)
	}
	return true
}

// onNodes leaves pods out that wait for the scheduler.
func onNodes(o *metav1.ListOptions) {
	o.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
}
