package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	helm "helm.sh/helm/v3/pkg/release"

	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
)

// Rollback makes the revision that order.Rollback says again, as a new one.
// Only what was deployed once can be gone back to.
func (c *Cluster) Rollback(ctx context.Context, order release.Order, tell func(release.Message)) (orchestrator.Release, error) {
	return c.work(ctx, order, tell, (*run).rollback)
}

func (r *run) rollback(ctx context.Context) (orchestrator.Release, error) {
	aim, err := r.history.aim(r.order.Rollback)
	if err != nil {
		return orchestrator.Release{}, err
	}
	if err := context.Cause(ctx); err != nil {
		return orchestrator.Release{}, err
	}
	made, err := r.rollTo(aim)
	if err != nil {
		return orchestrator.Release{}, r.fault(fmt.Sprintf("roll back to revision %d", aim), err)
	}
	if r.waits() {
		if err := r.ready(ctx)(); err != nil {
			settled := fmt.Sprintf("revision %d is deployed as revision %d", aim, made.Version)
			return orchestrator.Release{}, &SettledError{Err: err, Settled: settled}
		}
	}
	return r.landed(ctx, made.Version)
}

// aim is the revision to go back to: the stated one, or for a negative one the
// last that was deployed before the one that is.
func (h history) aim(stated int) (int, error) {
	var past []int
	for _, revision := range h {
		status := revision.Info.Status
		if status == helm.StatusSuperseded || stated > 0 && status == helm.StatusDeployed {
			past = append(past, revision.Version)
		}
	}
	if stated > 0 && slices.Contains(past, stated) {
		return stated, nil
	}
	if stated > 0 || len(past) == 0 {
		return 0, &NoRevisionError{Stated: stated, Past: past}
	}
	return past[len(past)-1], nil
}

// NoRevisionError is a rollback with nothing to go back to.
type NoRevisionError struct {
	Stated int
	Past   []int
}

func (e *NoRevisionError) Error() string {
	if e.Stated <= 0 {
		return "no earlier revision was ever deployed"
	}
	return fmt.Sprintf("revision %d was never deployed, or is no longer kept", e.Stated)
}

// Hint lists what there is.
func (e *NoRevisionError) Hint() string {
	if len(e.Past) == 0 {
		return "`toa status` shows what there is"
	}
	some := make([]string, len(e.Past))
	for i, revision := range e.Past {
		some[i] = strconv.Itoa(revision)
	}
	return "there are: " + strings.Join(some, ", ")
}

// Mistake is true: it is found before anything is touched.
func (*NoRevisionError) Mistake() bool { return true }
