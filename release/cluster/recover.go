package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	helm "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// patience is how long a revision that others than toa have begun is taken to
// be worked on: they leave no sign of life. It is far beyond Helm's own default
// timeout of five minutes.
const patience = time.Hour

// history are the revisions of a release, oldest first.
type history []*helm.Release

// look reads the history, and mends it where a run has ended in the middle. As
// the lease is held, no other toa works on the release:
//
//   - A pending revision that toa made has lost its owner: it is marked failed.
//   - One that others made is left alone until it is older than patience; then
//     it is marked failed too.
//
// Nothing is deleted. The next release goes on from what stands: from the
// deployed revision, or else from the failed one, and it takes away what failed
// revisions have added.
func (r *run) look() error {
	all, err := r.releases.History(r.Name)
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		return r.fault("read the history of "+r.Name, err)
	}
	r.history = all
	slices.SortFunc(r.history, func(a, b *helm.Release) int { return a.Version - b.Version })
	for _, revision := range r.history {
		if !unfinished(revision) {
			continue
		}
		if err := r.mend(revision); err != nil {
			return err
		}
	}
	return nil
}

// unfinished tells a revision that someone works on, or worked on to his end.
func unfinished(revision *helm.Release) bool {
	return unfinishedStatus(revision.Info.Status)
}

func unfinishedStatus(status helm.Status) bool {
	return status.IsPending() || status == helm.StatusUninstalling || status == helm.StatusUnknown
}

// pending finds, before anything is built, that others than toa work on the
// release. Another toa is waited for when it comes to that.
func (c *Cluster) pending(ctx context.Context) error {
	records, err := c.revisions(ctx)
	if err != nil {
		return c.fault("ask for pending revisions", err)
	}
	for _, record := range records {
		status, since := helm.Status(record.Labels["status"]), time.Since(record.CreationTimestamp.Time)
		if unfinishedStatus(status) && !ownRecord(record.Labels) && since < patience {
			return &PendingError{Release: c.Name, Revision: revisionOf(record), Status: status.String(), Since: since}
		}
	}
	return nil
}

// mend marks a revision without an owner as failed.
func (r *run) mend(revision *helm.Release) error {
	since := r.lease.began.Sub(revision.Info.LastDeployed.Time)
	if !ownRecord(revision.Labels) && since < patience {
		return &PendingError{Release: r.Name, Revision: revision.Version, Status: revision.Info.Status.String(), Since: since}
	}
	status := revision.Info.Status
	revision.SetStatus(helm.StatusFailed, fmt.Sprintf("toa: found %s, and nobody at work on it", status))
	if err := r.releases.Update(revision); err != nil {
		return r.fault(fmt.Sprintf("mark revision %d of %s failed", revision.Version, r.Name), err)
	}
	r.notice(fmt.Sprintf("revision %d was left %s by a run that is gone: marked failed, going on from there", revision.Version, status))
	return nil
}

// last is the newest revision, nil if there is none.
func (h history) last() *helm.Release {
	if len(h) == 0 {
		return nil
	}
	return h[len(h)-1]
}

// deployed is the newest deployed revision, nil if there is none.
func (h history) deployed() *helm.Release {
	for _, revision := range slices.Backward(h) {
		if revision.Info.Status == helm.StatusDeployed {
			return revision
		}
	}
	return nil
}

// uninstalled tells that there is nothing to upgrade.
func (h history) uninstalled() bool {
	return len(h) == 0 || h.last().Info.Status == helm.StatusUninstalled
}

// leftovers are the manifests of revisions that failed since one was deployed,
// newest first.
func (h history) leftovers() []string {
	var manifests []string
	for _, revision := range slices.Backward(h) {
		if revision.Info.Status == helm.StatusDeployed {
			break
		}
		if revision.Info.Status == helm.StatusFailed {
			manifests = append(manifests, revision.Manifest)
		}
	}
	return manifests
}

// expect refuses when another revision is deployed than the one that was
// planned against: negative for any, zero for none.
func (h history) expect(planned int) error {
	deployed := 0
	if d := h.deployed(); d != nil {
		deployed = d.Version
	}
	if planned < 0 || planned == deployed {
		return nil
	}
	return &MovedError{Planned: planned, Deployed: deployed}
}

// PendingError is a release that others than toa are working on, or were.
type PendingError struct {
	Release  string
	Revision int
	Status   string
	Since    time.Duration
}

func (e *PendingError) Error() string {
	return fmt.Sprintf("revision %d of %s is %s for %s, and toa did not begin it", e.Revision, e.Release, e.Status, e.Since.Round(time.Second))
}

// Hint says how to go on.
func (e *PendingError) Hint() string {
	return fmt.Sprintf("let it end; if nobody is at work, `helm rollback %s`, or wait: after %s toa marks it failed and goes on", e.Release, patience)
}

// MovedError is a plan that was made for another deployed revision.
type MovedError struct{ Planned, Deployed int }

func (e *MovedError) Error() string {
	return fmt.Sprintf("the plan was made for %s, and now %s", deployment(e.Planned), deployment(e.Deployed))
}

func deployment(revision int) string {
	if revision == 0 {
		return "nothing is deployed"
	}
	return fmt.Sprintf("revision %d is deployed", revision)
}

// Hint says how to go on.
func (e *MovedError) Hint() string { return "plan again" }
