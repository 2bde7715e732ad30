package cluster

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
	"toa.io/toa/workspace"
)

// What is not stated.
const (
	DefaultTimeout = 5 * time.Minute
	DefaultHistory = 10
)

// Releaser makes releases in a cluster. It implements orchestrator.Releaser: it
// asks in this process, and changes in a child.
type Releaser struct {
	// Target is where; it must name a cluster.
	Target   release.Target
	Settings workspace.Release
	// CreateNamespace makes the namespace where it is missing.
	CreateNamespace bool
	// Deployed is the revision that must be the deployed one, zero for none; nil
	// means that any will do.
	Deployed *int
	Observe  orchestrator.Observe
	// Worker makes the releases; its Observe is set to this one's.
	Worker release.Worker

	cluster *Cluster
}

// open finds the cluster, once, and tells which it is.
func (r *Releaser) open() (*Cluster, error) {
	if r.cluster != nil {
		return r.cluster, nil
	}
	c, err := Open(r.Target)
	if err != nil {
		return nil, err
	}
	r.cluster = c
	if r.Observe != nil {
		r.Observe(orchestrator.NoticeEvent{Text: fmt.Sprintf("releasing %s to %s namespace %s", c.Name, c.Server, c.Namespace)})
	}
	return c, nil
}

// Current asks the cluster.
func (r *Releaser) Current(ctx context.Context, inputs cache.Key) (orchestrator.Release, bool, error) {
	c, err := r.open()
	if err != nil {
		return orchestrator.Release{}, false, err
	}
	return c.Current(ctx, inputs)
}

// Check asks the cluster about everything that would keep the chart from landing.
func (r *Releaser) Check(ctx context.Context, c *chart.Chart) error {
	cluster, err := r.open()
	if err != nil {
		return err
	}
	return cluster.Check(ctx, c, r.CreateNamespace)
}

// Release makes the release in a child process.
func (r *Releaser) Release(ctx context.Context, inputs cache.Key, c *chart.Chart) (orchestrator.Release, error) {
	order, err := r.Order()
	if err != nil {
		return orchestrator.Release{}, err
	}
	order.Chart, order.Inputs = c, inputs.String()
	return r.run(ctx, order)
}

// Rollback makes a revision again in a child process: a negative one is the one
// that was deployed before.
func (r *Releaser) Rollback(ctx context.Context, revision int) (orchestrator.Release, error) {
	order, err := r.Order()
	if err != nil {
		return orchestrator.Release{}, err
	}
	order.Rollback = revision
	return r.run(ctx, order)
}

func (r *Releaser) run(ctx context.Context, order release.Order) (orchestrator.Release, error) {
	worker := r.Worker
	worker.Observe = r.Observe
	return worker.Run(ctx, order)
}

// Order is one with all that is settled, and nothing to do yet.
func (r *Releaser) Order() (release.Order, error) {
	c, err := r.open()
	if err != nil {
		return release.Order{}, err
	}
	deployed := -1
	if r.Deployed != nil {
		deployed = *r.Deployed
	}
	return release.Order{
		Format:          release.OrderFormat,
		Target:          c.Target,
		Deployed:        deployed,
		Wait:            r.Settings.Wait,
		Timeout:         cmp.Or(r.Settings.Timeout, DefaultTimeout),
		Atomic:          r.Settings.Atomic,
		History:         cmp.Or(r.Settings.History, DefaultHistory),
		CreateNamespace: r.CreateNamespace,
	}, nil
}
