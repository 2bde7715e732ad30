package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

func runScheduler(ctx context.Context, kubeconfig string) error {
	o := options.NewOptions()
	if err := parseFlags("kube-scheduler", *o.Flags, []string{
		"--kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=500", "--kube-api-burst=1000",
	}); err != nil {
		return err
	}
	name, err := cache.NewInformerName("kube-scheduler")
	if err != nil {
		return err
	}
	defer name.Release()
	o.InformerName = name
	config, scheduler, err := app.Setup(ctx, o)
	if err != nil {
		return fmt.Errorf("complete options: %w", err)
	}
	return app.Run(ctx, config, scheduler)
}
