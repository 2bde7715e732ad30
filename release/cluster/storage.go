package cluster

import (
	"maps"
	"strconv"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"toa.io/toa/internal/failpoint"
)

// records are Helm's of a release, with two things added: each that we make
// says so in its labels, and nothing is written once the lease is lost.
type records struct {
	driver.Driver
	held func() error
	// made is the revision that was made last, nil if none.
	made *release.Release
}

// storage is the place where the cluster keeps releases; held precedes each write.
func (c *Cluster) storage(held func() error) (*storage.Storage, *records) {
	kept := &records{Driver: driver.NewSecrets(c.kube.CoreV1().Secrets(c.Namespace)), held: held}
	return storage.Init(kept), kept
}

// Create makes the record of a new revision.
func (r *records) Create(key string, made *release.Release) error {
	if err := r.held(); err != nil {
		return err
	}
	if err := failpoint.At(failpoint.RecordCreate); err != nil {
		return err
	}
	labels := maps.Clone(made.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[revisionLabel] = strconv.Itoa(made.Version)
	made.Labels = labels
	if err := r.Driver.Create(key, made); err != nil {
		return err
	}
	r.made = made
	return nil
}

// Update changes a record.
func (r *records) Update(key string, changed *release.Release) error {
	if err := r.held(); err != nil {
		return err
	}
	if err := failpoint.At(failpoint.RecordUpdate); err != nil {
		return err
	}
	return r.Driver.Update(key, changed)
}

// Delete drops a record.
func (r *records) Delete(key string) (*release.Release, error) {
	if err := r.held(); err != nil {
		return nil, err
	}
	return r.Driver.Delete(key)
}
