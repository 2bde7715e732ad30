package cluster

import (
	"context"
	"errors"
	"slices"
	"time"

	helm "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"toa.io/toa/orchestrator"
)

// Status describes a release as it stands.
type Status struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Server    string `json:"server"`
	// Revisions are all that are kept, newest first; none if nothing was released.
	Revisions []Revision `json:"revisions"`
	// Images are those that the deployed revision runs, sorted.
	Images []string `json:"images,omitempty"`
	// Workloads are those of the deployed revision.
	Workloads []orchestrator.Workload `json:"workloads,omitempty"`
	// Holder is who works on the release now, or empty.
	Holder string `json:"holder,omitempty"`
}

// Revision is one of a release's.
type Revision struct {
	Revision int `json:"revision"`
	// Status is Helm's: "deployed", "superseded", "failed", "pending-upgrade", …
	Status  string    `json:"status"`
	Updated time.Time `json:"updated"`
	// Chart is name-version.
	Chart string `json:"chart"`
	// Inputs are the first 63 hex digits of the key of what it was made of,
	// empty if toa did not make it.
	Inputs      string `json:"inputs,omitempty"`
	Description string `json:"description,omitempty"`
}

// Deployed is the deployed revision, zero if there is none.
func (s *Status) Deployed() Revision {
	for _, revision := range s.Revisions {
		if revision.Status == helm.StatusDeployed.String() {
			return revision
		}
	}
	return Revision{}
}

// Status asks the cluster how the release stands, and changes nothing.
func (c *Cluster) Status(ctx context.Context) (*Status, error) {
	status := &Status{Name: c.Name, Namespace: c.Namespace, Server: c.Server}
	all, err := c.History(ctx)
	if err != nil {
		return nil, err
	}
	for _, revision := range slices.Backward(all) {
		status.Revisions = append(status.Revisions, summary(revision))
	}
	if status.Holder, err = c.holder(ctx); err != nil {
		return nil, err
	}
	deployed := all.deployed()
	if deployed == nil {
		return status, nil
	}
	objects, err := Objects(deployed.Manifest)
	if err != nil {
		return nil, err
	}
	status.Images = images(objects)
	status.Workloads, err = c.workloads(ctx, deployed.Manifest)
	return status, err
}

// History are the revisions that are kept, oldest first.
func (c *Cluster) History(ctx context.Context) (history, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	releases, _ := c.storage(nil)
	all, err := releases.History(c.Name)
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, c.fault("read the history of "+c.Name, err)
	}
	slices.SortFunc(all, func(a, b *helm.Release) int { return a.Version - b.Version })
	return all, nil
}

func summary(r *helm.Release) Revision {
	d := Revision{
		Revision: r.Version, Status: r.Info.Status.String(), Updated: r.Info.LastDeployed.Time,
		Description: r.Info.Description,
	}
	if r.Chart != nil && r.Chart.Metadata != nil {
		d.Chart = r.Chart.Metadata.Name + "-" + r.Chart.Metadata.Version
	}
	if ownRecord(r.Labels) {
		d.Inputs = r.Labels[inputsLabel]
	}
	return d
}

// holder is who works on the release now, or empty.
func (c *Cluster) holder(ctx context.Context) (string, error) {
	held, err := c.kube.CoordinationV1().Leases(c.Namespace).Get(ctx, leaseName(c.Name), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", c.fault("look who holds "+leaseName(c.Name), err)
	}
	return identity(held), nil
}

// images are all that containers of the objects run.
func images(objects []*unstructured.Unstructured) []string {
	var all []string
	for _, object := range objects {
		for _, kind := range []string{"containers", "initContainers"} {
			containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", kind)
			for _, container := range containers {
				if image, ok := container.(map[string]any)["image"].(string); ok {
					all = append(all, image)
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
