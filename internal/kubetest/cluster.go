// Package kubetest gives tests a real Kubernetes control plane whose nodes only
// play that they run pods (test/cluster): etcd, API server, controllers and
// scheduler are the real ones, and every image is asked for at its registry.
//
// Only tests may import it. It knows nothing of the product. Everything that it
// starts ends with the test binary, even one that is killed.
package kubetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The contexts of every kubeconfig. The admin may do everything, the deployer
// what [Cluster.Grant] says.
const (
	Admin    = "test"
	Deployer = "deployer"
)

// Cluster is a running control plane. Its methods may be called by several tests
// at once, but who stops the API server should have a cluster of its own.
type Cluster struct {
	URL        string
	Kubeconfig string               // path of a file with the contexts Admin (the current one), Deployer and those of Contexts
	Context    string               // Admin
	Config     *rest.Config         // the admin's, without a limit on requests
	Client     kubernetes.Interface // of Config

	process *process
}

// Option is a choice about a cluster to start.
type Option func(*arguments)

type arguments struct {
	contexts []string
	list     []string
}

// Nodes is how many nodes there are: one, if nothing is said.
func Nodes(count int) Option {
	return func(a *arguments) { a.list = append(a.list, fmt.Sprintf("-nodes=%d", count)) }
}

// Contexts are more names in the kubeconfig for the same cluster and the admin.
func Contexts(names ...string) Option {
	return func(a *arguments) { a.contexts = append(a.contexts, names...) }
}

// TrustImages takes every image to be there: no registry is asked.
func TrustImages() Option {
	return func(a *arguments) { a.list = append(a.list, "-trust-images") }
}

// APIServer adds flags of kube-apiserver, such as --watch-cache=false or
// --disable-admission-plugins=ServiceAccount.
func APIServer(flags ...string) Option {
	return func(a *arguments) {
		for _, flag := range flags {
			a.list = append(a.list, "-apiserver="+flag)
		}
	}
}

// Start returns a cluster that belongs to the test and ends with it. The test is
// skipped where no control plane has been built.
func Start(t testing.TB, options ...Option) *Cluster {
	t.Helper()
	c, err := start(find(t), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.process.end(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Shared returns the one cluster of this test binary, with one node, started
// when it is first asked for. Each test should use a [Cluster.Namespace].
func Shared(t testing.TB) *Cluster {
	t.Helper()
	binary := find(t)
	shared.Do(func() { shared.cluster, shared.err = start(binary, nil) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// shared is never ended: the process ends when this one does.
var shared struct {
	sync.Once
	cluster *Cluster
	err     error
}

func start(binary string, options []Option) (*Cluster, error) {
	a := arguments{contexts: []string{Admin}}
	for _, o := range options {
		o(&a)
	}
	p, ready, err := launch(binary, append(a.list, "-contexts="+strings.Join(a.contexts, ","))...)
	if err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	c := &Cluster{URL: ready.URL, Kubeconfig: ready.Kubeconfig, Context: Admin, process: p}
	if err := c.connect(); err != nil {
		return nil, fmt.Errorf("connect to cluster: %w", err)
	}
	return c, nil
}

func (c *Cluster) connect() (err error) {
	if c.Config, err = c.config(c.Context); err != nil {
		return err
	}
	c.Client, err = kubernetes.NewForConfig(c.Config)
	return err
}

// config reads what the kubeconfig says of a context.
func (c *Cluster) config(context string) (*rest.Config, error) {
	loader := &clientcmd.ClientConfigLoadingRules{ExplicitPath: c.Kubeconfig}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loader, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// StopAPIServer breaks all connections to the API server and leaves it stopped.
// The data stay.
func (c *Cluster) StopAPIServer(t testing.TB) {
	t.Helper()
	c.order(t, "stop")
}

// StartAPIServer returns when the API server answers again, at the same address.
func (c *Cluster) StartAPIServer(t testing.TB) {
	t.Helper()
	c.order(t, "start")
}

// RestartAPIServer stops and starts the API server.
func (c *Cluster) RestartAPIServer(t testing.TB) {
	t.Helper()
	c.order(t, "restart")
}

func (c *Cluster) order(t testing.TB, order string) {
	t.Helper()
	if err := c.process.order(order); err != nil {
		t.Fatalf("%s API server: %v", order, err)
	}
}
