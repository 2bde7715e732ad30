package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	app "k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// apiServer can be stopped and started: it keeps its address, and its data are
// etcd's.
type apiServer struct {
	dir, etcd string
	identity  identity
	extra     []string

	address string // once it has been started
	cut     func() // breaks all connections
	cancel  context.CancelFunc
	ended   chan error
}

func (s *apiServer) url() string { return "https://" + s.address }

// client is the admin's, without a limit of its own.
func (s *apiServer) client() *rest.Config {
	return &rest.Config{
		Host: s.url(), BearerToken: s.identity.tokens[admin], QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: s.identity.certificateFile()},
	}
}

// start returns when the API server is ready.
func (s *apiServer) start(ctx context.Context) error {
	if s.cancel != nil {
		return errors.New("it runs already")
	}
	listener, err := s.listen()
	if err != nil {
		return err
	}
	ctx, s.cancel = context.WithCancel(ctx)
	s.cut, s.ended = listener.cut, make(chan error, 1)
	go func() { s.ended <- s.run(ctx, listener) }()
	if err := s.wait(ctx); err != nil {
		return errors.Join(err, s.stop())
	}
	return nil
}

// stop breaks all connections, as a machine does that fails, and returns when
// nothing of the API server is left. Nothing happens if it does not run.
func (s *apiServer) stop() error {
	if s.cancel == nil {
		return nil
	}
	s.cancel()
	s.cut()
	err := <-s.ended
	s.cancel = nil
	return err
}

func (s *apiServer) listen() (*breakable, error) {
	if s.address == "" {
		s.address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s.address = listener.Addr().String()
	return &breakable{Listener: listener}, nil
}

// wait polls: the certificate, which clients need, is written by the API server
// on its way.
func (s *apiServer) wait(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-s.ended:
			s.ended <- err
			return false, errors.Join(errStopped, err)
		default:
		}
		last = s.ready(ctx)
		return last == nil, nil
	})
	if err != nil && !errors.Is(err, errStopped) {
		return fmt.Errorf("wait until it is ready: %w (%w)", err, last)
	}
	return err
}

func (s *apiServer) ready(ctx context.Context) error {
	if _, err := os.Stat(s.identity.certificateFile()); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(s.client())
	if err != nil {
		return err
	}
	return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// run does what the command kube-apiserver does, but for its handling of
// signals, which a process can have only once.
func (s *apiServer) run(ctx context.Context, listener net.Listener) error {
	flags, err := newServerOptions()
	if err != nil {
		return err
	}
	args, err := s.arguments()
	if err != nil {
		return err
	}
	if err := parseFlags("kube-apiserver", flags.Flags(), args); err != nil {
		return err
	}
	if err := flags.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return fmt.Errorf("set features: %w", err)
	}
	flags.SecureServing.Listener = listener
	name, err := cache.NewInformerName("kube-apiserver")
	if err != nil {
		return err
	}
	defer name.Release()
	flags.InformerName = name
	completed, err := flags.Complete(ctx)
	if err != nil {
		return fmt.Errorf("complete options: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return fmt.Errorf("check options: %w", utilerrors.NewAggregate(errs))
	}
	return app.Run(ctx, completed)
}

// newServerOptions gives every run a registry of versions and features of its
// own: the process-wide one can be set only once.
func newServerOptions() (*options.ServerRunOptions, error) {
	features := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	registry := basecompatibility.NewComponentGlobalsRegistry()
	version := compatibility.DefaultBuildEffectiveVersion()
	if err := registry.Register(basecompatibility.DefaultKubeComponent, version, features); err != nil {
		return nil, fmt.Errorf("register features: %w", err)
	}
	o := options.NewServerRunOptions()
	o.GenericServerRunOptions.ComponentGlobalsRegistry = registry
	return o, nil
}

func (s *apiServer) arguments() ([]string, error) {
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		return nil, err
	}
	if _, err := strconv.Atoi(port); err != nil {
		return nil, err
	}
	id := s.identity
	return append([]string{
		"--etcd-servers=" + s.etcd,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + port,
		"--cert-dir=" + id.dir,
		"--token-auth-file=" + id.tokenFile(),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + id.signingFile(),
		"--service-account-signing-key-file=" + id.signingFile(),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--endpoint-reconciler-type=none",
		"--enable-priority-and-fairness=false", // tests send as much as they like
		"--max-requests-inflight=2000",
		"--max-mutating-requests-inflight=1000",
		"--shutdown-delay-duration=0s",
	}, s.extra...), nil
}

func parseFlags(name string, sets cliflag.NamedFlagSets, args []string) error {
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	return flags.Parse(args)
}
