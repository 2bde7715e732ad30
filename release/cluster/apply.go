package cluster

import (
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	helm "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"

	"toa.io/toa/internal/failpoint"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
)

// run is one order at work, with the lease of the release held.
type run struct {
	*Cluster
	order    release.Order
	tell     func(release.Message)
	lease    *lease
	releases *storage.Storage
	records  *records
	history  history
}

// Apply installs or upgrades the release as the order says, and returns when it
// has landed or is settled; nothing goes on behind it. Where ctx ends before it
// has landed, the release goes back to what stood. An error of a release that
// was begun is a *SettledError. Calls of tell do not overlap.
func (c *Cluster) Apply(ctx context.Context, order release.Order, tell func(release.Message)) (orchestrator.Release, error) {
	return c.work(ctx, order, tell, (*run).apply)
}

// work does something with the release while it is nobody else's.
func (c *Cluster) work(
	ctx context.Context, order release.Order, tell func(release.Message),
	do func(*run, context.Context) (orchestrator.Release, error),
) (orchestrator.Release, error) {
	notice := func(text string) { tell(release.Message{Notice: text}) }
	ctx, lease, err := c.acquire(ctx, order.Timeout, order.CreateNamespace, notice)
	if err != nil {
		return orchestrator.Release{}, err
	}
	defer func() { //nolint:contextcheck // it is given up when the work was stopped, too
		if err := lease.close(); err != nil {
			notice(err.Error()) // it runs out by itself, and what was made stands
		}
	}()
	if err := failpoint.At(failpoint.LeaseTaken); err != nil {
		return orchestrator.Release{}, err
	}
	r := &run{Cluster: c, order: order, tell: tell, lease: lease}
	r.releases, r.records = c.storage(lease.held)
	if err := r.look(); err != nil {
		return orchestrator.Release{}, err
	}
	if err := r.history.expect(order.Deployed); err != nil {
		return orchestrator.Release{}, err
	}
	return do(r, ctx)
}

// apply releases the chart.
func (r *run) apply(ctx context.Context) (orchestrator.Release, error) {
	if last := r.history.last(); last != nil && standsOf(last.Labels, r.order.Inputs) {
		return r.released(orchestrator.ReleaseUnchanged, last.Version), nil // another run was faster
	}
	if err := context.Cause(ctx); err != nil {
		return orchestrator.Release{}, err
	}
	engine := r.Cluster.engine(r.gate(ctx), r.ready(ctx), r.history.leftovers())
	made, err := r.perform(engine)
	if err == nil {
		err = failpoint.At(failpoint.HelmApplied)
	}
	if err != nil {
		return orchestrator.Release{}, r.settle(ctx, engine, err)
	}
	return r.landed(ctx, made.Version)
}

// landed waits, where that is asked for, until the pods of before are gone.
func (r *run) landed(ctx context.Context, revision int) (orchestrator.Release, error) {
	if r.order.Wait {
		ctx, cancel := context.WithTimeout(ctx, r.order.Timeout)
		defer cancel()
		if err := r.Drain(ctx, r.rollout); err != nil {
			return orchestrator.Release{}, &SettledError{Err: err, Settled: fmt.Sprintf("revision %d is deployed", revision)}
		}
	}
	return r.released(orchestrator.ReleaseApplied, revision), nil
}

// perform installs or upgrades. Helm's context cannot stop it, only make it
// return while it goes on; what stops it is the engine.
func (r *run) perform(engine *engine) (*helm.Release, error) {
	loaded, err := load(r.order.Chart)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{inputsLabel: inputsValue(r.order.Inputs)}
	if r.history.uninstalled() {
		install := action.NewInstall(r.configuration(engine))
		install.ReleaseName, install.Namespace, install.Labels = r.Name, r.Namespace, labels
		install.Replace = true                  // a name whose history was kept may be used again
		install.DisableOpenAPIValidation = true // Check has asked the server itself
		install.Wait, install.WaitForJobs, install.Timeout = r.waits(), true, r.order.Timeout
		return install.Run(loaded, nil)
	}
	upgrade := action.NewUpgrade(r.configuration(engine))
	upgrade.Namespace, upgrade.Labels = r.Namespace, labels
	upgrade.ResetValues = true // or Helm takes the values of before where there are no new ones
	upgrade.MaxHistory = r.order.History
	upgrade.DisableOpenAPIValidation = true
	upgrade.Wait, upgrade.WaitForJobs, upgrade.Timeout = r.waits(), true, r.order.Timeout
	return upgrade.Run(r.Name, loaded, nil)
}

// waits tells whether it is waited until everything is ready: what shall go
// back when it does not get ready has to be waited for.
func (r *run) waits() bool { return r.order.Wait || r.order.Atomic }

func (r *run) configuration(engine *engine) *action.Configuration {
	return &action.Configuration{
		RESTClientGetter: r.Cluster,
		Releases:         r.releases,
		KubeClient:       engine,
		Log:              func(string, ...any) {},
	}
}

// gate lets changes pass until the run is stopped or the lease is lost.
func (r *run) gate(ctx context.Context) func() error {
	return func() error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return r.lease.held() //nolint:contextcheck // Helm's interface has none
	}
}

// ready waits for what was made last.
func (r *run) ready(ctx context.Context) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(ctx, r.order.Timeout)
		defer cancel()
		return r.Wait(ctx, r.records.made.Manifest, r.rollout)
	}
}

func (r *run) rollout(all []orchestrator.Workload) { r.tell(release.Message{Rollout: all}) }
func (r *run) notice(text string)                  { r.tell(release.Message{Notice: text}) }
