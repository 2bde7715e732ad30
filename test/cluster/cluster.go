package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"toa.io/toa/test/cluster/kubelet"
)

// errStopped says that a part of the cluster ended that should not have.
var errStopped = errors.New("stopped by itself")

// serve starts all parts, says that they are ready, and obeys orders until ctx
// or standard input ends. All parts have ended when it returns.
func serve(ctx context.Context, s settings) (err error) {
	identity, err := newIdentity(s.dir)
	if err != nil {
		return err
	}
	etcd, err := startEtcd(ctx, s.dir)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer etcd.Close()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	api := &apiServer{dir: s.dir, etcd: endpoint(etcd), identity: identity, extra: s.apiServer}
	if err := api.start(ctx); err != nil {
		return fmt.Errorf("start API server: %w", err)
	}
	defer func() { err = errors.Join(err, api.stop()) }()
	kubeconfig, err := identity.writeKubeconfig(api.url(), s.contexts)
	if err != nil {
		return err
	}

	parts, ctx := errgroup.WithContext(ctx)
	supervise(ctx, parts, "run controllers", func() error { return runControllers(ctx, identity, kubeconfig) })
	supervise(ctx, parts, "run scheduler", func() error { return runScheduler(ctx, kubeconfig) })
	if err := startNodes(ctx, parts, s, api.client()); err != nil {
		cancel()
		return errors.Join(err, parts.Wait())
	}
	orders := orders{api: api, out: os.Stdout}
	supervise(ctx, parts, "obey orders", func() error {
		defer cancel() // whoever gave orders is gone
		return orders.obey(ctx, os.Stdin)
	})
	orders.answer(Ready{URL: api.url(), Kubeconfig: kubeconfig, Contexts: s.contexts})
	return parts.Wait()
}

// supervise runs a part; if it ends before ctx does, so do all others.
func supervise(ctx context.Context, parts *errgroup.Group, doing string, part func() error) {
	parts.Go(func() error {
		err := part()
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = errStopped
		}
		return fmt.Errorf("%s: %w", doing, err)
	})
}

func startNodes(ctx context.Context, parts *errgroup.Group, s settings, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	nodes, err := kubelet.New(client, s.nodes)
	if err != nil {
		return err
	}
	if !s.trustImages {
		nodes.Images = kubelet.NewRegistries()
	}
	if err := nodes.Register(ctx); err != nil {
		return err
	}
	supervise(ctx, parts, "run nodes", func() error { return nodes.Run(ctx) })
	return nil
}
