package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/action"
	helm "helm.sh/helm/v3/pkg/release"

	"toa.io/toa/release"
)

// SettledError is a release that was begun and did not land.
type SettledError struct {
	Err error
	// Settled says how the cluster was left.
	Settled string
}

func (e *SettledError) Error() string { return fmt.Sprintf("%v (%s)", e.Err, e.Settled) }
func (e *SettledError) Unwrap() error { return e.Err }

// settleLimit bounds the waiting of a release that goes back; with what else
// there is to do it stays below release.SettleLimit.
const settleLimit = 60 * time.Second

// settle leaves a release that did not land in a settled state:
//
//   - Nothing was applied: the revision is marked failed, and that is all.
//   - It is stopped, or atomic, and a revision stood before: it goes back.
//   - It is atomic and the first: what it made is removed.
//   - Otherwise the revision is marked failed and what it made stays; the next
//     release goes on from there.
//   - The lease is lost: nothing is written any more, it is another run's.
//
// What is known of the failure is told before anything is taken away.
func (r *run) settle(ctx context.Context, engine *engine, cause error) error {
	made := r.records.made
	stopped := context.Cause(ctx)
	switch {
	case made == nil:
		return r.known(cause)
	case isLost(cause) || isLost(stopped):
		return &SettledError{Err: cause, Settled: "left to the run that took over"}
	case stopped != nil:
		cause = stopped
	default:
		cause = r.known(cause)
	}
	settled, err := r.back(ctx, made, engine.touched.Load(), stopped != nil)
	if err != nil {
		settled = fmt.Sprintf("not settled: %v; the next run goes on from there", err)
	}
	if stopped != nil {
		r.notice(settled) // who stopped it hears of it, whatever becomes of the error
	}
	return &SettledError{Err: cause, Settled: settled}
}

// back does what settle says, and returns how the cluster is left.
func (r *run) back(ctx context.Context, made *helm.Release, touched, stopped bool) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	if touched && !stopped {
		r.evidence(ctx, made.Manifest)
	}
	if err := r.fail(made); err != nil {
		return "", err
	}
	before := r.history.deployed()
	switch {
	case !touched:
		return fmt.Sprintf("revision %d marked failed, nothing was applied", made.Version), nil
	case before != nil && (stopped || r.order.Atomic):
		return r.restore(ctx, before.Version, !stopped)
	case before == nil && r.order.Atomic:
		return "what it made was removed", r.remove()
	}
	return fmt.Sprintf("revision %d marked failed, what it applied stays", made.Version), nil
}

// evidence tells what is known of pods that are not ready.
func (r *run) evidence(ctx context.Context, manifest string) {
	if lines := r.Evidence(ctx, manifest); len(lines) > 0 {
		r.tell(release.Message{Evidence: lines})
	}
}

// fail makes sure that a revision is marked failed. Helm tries to, and goes on
// where it cannot.
func (r *run) fail(made *helm.Release) error {
	if made.Info.Status != helm.StatusFailed {
		made.SetStatus(helm.StatusFailed, "toa: did not land")
	}
	made.Info.Description = firstLine(made.Info.Description)
	return r.releases.Update(made)
}

// firstLine cuts a text to what fits a column of `helm history`.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// restore makes a revision again, and waits for it where that is asked for.
func (r *run) restore(ctx context.Context, revision int, wait bool) (string, error) {
	made, err := r.rollTo(revision)
	if err != nil {
		return "", fmt.Errorf("roll back to revision %d: %w", revision, err)
	}
	settled := fmt.Sprintf("rolled back to revision %d", revision)
	if !wait {
		return settled, nil
	}
	if r.Wait(ctx, made.Manifest, r.rollout) != nil {
		settled += ", which is not ready either"
	}
	return settled, nil
}

// rollTo makes a revision again, whatever stopped the run: only the loss of the
// lease keeps it from that.
func (r *run) rollTo(revision int) (*helm.Release, error) {
	engine := r.Cluster.engine(r.lease.held, unready, r.history.leftovers())
	rollback := action.NewRollback(r.configuration(engine))
	rollback.Version, rollback.MaxHistory = revision, r.order.History
	if err := rollback.Run(r.Name); err != nil {
		return nil, err
	}
	return r.records.made, nil
}

// unready waits for nothing.
func unready() error { return nil }

// remove takes a first release away with all that it made.
func (r *run) remove() error {
	engine := r.Cluster.engine(r.lease.held, unready, nil)
	if _, err := action.NewUninstall(r.configuration(engine)).Run(r.Name); err != nil {
		return fmt.Errorf("remove what it made: %w", err)
	}
	return nil
}
