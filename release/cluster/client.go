// Package cluster makes, checks and describes releases in a Kubernetes cluster,
// through the Helm SDK. Only it imports Helm and Kubernetes' clients.
//
// Users may rely on this: no cluster is ever touched that was not named, and
// when a call returns nothing goes on behind it.
package cluster

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"toa.io/toa/release"
)

// Cluster is one API server, and the release in it that a target names.
type Cluster struct {
	release.Target
	// Server is the URL of the API server.
	Server string

	config    *rest.Config
	loader    clientcmd.ClientConfig
	kube      kubernetes.Interface
	dynamic   dynamic.Interface
	discovery discovery.CachedDiscoveryInterface
	requests  *atomic.Int64
	// lease is how long a run is waited for that shows no sign of life.
	lease time.Duration
}

// manager is who changed a field, as the server remembers it.
const manager = "toa"

// The client library's own limits (5 requests a second) make a release of 500
// workloads wait three minutes for itself.
const (
	requestsPerSecond = 300
	requestsAtOnce    = 600
)

// Open finds the cluster of a target, and sends nothing. The target's namespace
// is filled in. An error names what of the target is not there.
func Open(t release.Target) (*Cluster, error) {
	if t.Context == "" {
		return nil, &release.UnnamedError{}
	}
	c := &Cluster{Target: t, requests: new(atomic.Int64), lease: leaseDuration}
	if err := c.configure(); err != nil {
		return nil, err
	}
	c.config.QPS, c.config.Burst = requestsPerSecond, requestsAtOnce
	c.config.UserAgent = "toa"
	c.config.WarningHandler = rest.NoWarnings{} // standard error is not the client library's
	answered := new(atomic.Bool)
	c.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &patient{next: &counter{next: next, requests: c.requests}, answered: answered}
	})
	c.Server = c.config.Host
	var err error
	if c.kube, err = kubernetes.NewForConfig(c.config); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.Server, err)
	}
	if c.dynamic, err = dynamic.NewForConfig(c.config); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.Server, err)
	}
	c.discovery = memory.NewMemCacheClient(c.kube.Discovery())
	return c, nil
}

// Requests is how many were sent so far.
func (c *Cluster) Requests() int64 { return c.requests.Load() }

// configure reads the kubeconfig, or the service account of the pod that this
// process runs in.
func (c *Cluster) configure() (err error) {
	if c.Context == release.InCluster {
		if c.config, err = rest.InClusterConfig(); err != nil {
			return fmt.Errorf("find the cluster that this runs in: %w", err)
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.Context}
	if c.Context == release.InCluster {
		overrides.CurrentContext = ""
	}
	overrides.Context.Namespace = c.Namespace
	c.loader = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	if c.config == nil {
		if c.config, err = c.loader.ClientConfig(); err != nil {
			return &ContextError{Context: c.Context, Err: err}
		}
	}
	namespace, _, err := c.loader.Namespace()
	if err != nil {
		return &ContextError{Context: c.Context, Err: err}
	}
	c.Namespace = cmp.Or(c.Namespace, namespace)
	return nil
}

// ToRESTConfig and the three below are genericclioptions.RESTClientGetter, by
// which Helm's SDK takes a cluster.
func (c *Cluster) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(c.config), nil }

// ToDiscoveryClient returns the one that remembers what it was told.
func (c *Cluster) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return c.discovery, nil
}

// ToRESTMapper maps kinds to resources.
func (c *Cluster) ToRESTMapper() (meta.RESTMapper, error) {
	return restmapper.NewDeferredDiscoveryRESTMapper(c.discovery), nil
}

// ToRawKubeConfigLoader tells the namespace.
func (c *Cluster) ToRawKubeConfigLoader() clientcmd.ClientConfig { return c.loader }

// counter counts requests on their way.
type counter struct {
	next     http.RoundTripper
	requests *atomic.Int64
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return c.next.RoundTrip(r)
}

// ContextError is a context that the kubeconfig does not have or that is broken.
type ContextError struct {
	Context string
	Err     error
}

func (e *ContextError) Error() string {
	return fmt.Sprintf("kubeconfig context %q: %s", e.Context, strings.TrimPrefix(e.Err.Error(), "invalid configuration: "))
}
func (e *ContextError) Unwrap() error { return e.Err }

// Hint says where to look.
func (e *ContextError) Hint() string { return "`kubectl config get-contexts` lists what there is" }

// Mistake is true: it is found before anything is touched.
func (*ContextError) Mistake() bool { return true }
