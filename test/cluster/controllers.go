package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
)

// controllers are those that what is released depends on. Nodes are left alone:
// they send no heartbeat that a controller could miss.
var controllers = []string{
	names.DeploymentController,
	names.ReplicaSetController,
	names.StatefulSetController,
	names.DaemonSetController,
	names.JobController,
	names.CronJobController,
	names.TTLAfterFinishedController,
	names.EndpointSliceController,
	names.DisruptionController,
	names.ResourceQuotaController,
	names.PersistentVolumeBinderController,
	names.NamespaceController,
	names.GarbageCollectorController,
	names.PodGarbageCollectorController,
	names.ServiceAccountController,
	names.RootCACertificatePublisherController,
	names.ClusterRoleAggregationController,
}

func runControllers(ctx context.Context, id identity, kubeconfig string) error {
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return fmt.Errorf("make options: %w", err)
	}
	flags := o.Flags(app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	o.ParsedFlags = &flags
	if err := parseFlags("kube-controller-manager", flags, []string{
		"--kubeconfig=" + kubeconfig,
		"--root-ca-file=" + id.certificateFile(),
		"--controllers=" + strings.Join(controllers, ","),
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=500", "--kube-api-burst=1000",
		"--controller-start-interval=0s",
		"--concurrent-deployment-syncs=10", "--concurrent-replicaset-syncs=10",
	}); err != nil {
		return err
	}
	config, err := o.Config(ctx, app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	if err != nil {
		return fmt.Errorf("complete options: %w", err)
	}
	return app.Run(ctx, config.Complete())
}
