package cluster

import (
	"context"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/metadata"

	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
)

// Labels of the records that Helm keeps of a release. Helm hands labels on from
// one revision to the next, also where it was not us who made the next one: so
// what was made of which inputs is told by both together.
const (
	inputsLabel   = "toa.io/inputs"
	revisionLabel = "toa.io/revision"
)

// maxLabel is how long the value of a label may be.
const maxLabel = 63

// inputsValue is a key of inputs as a label has it.
func inputsValue(inputs string) string { return inputs[:min(len(inputs), maxLabel)] }

// Current describes the deployed revision, and tells whether it is what stands
// in the cluster and was made of the inputs. After a revision that failed, the
// deployed one is not what stands. It takes one request, whatever is stored.
func (c *Cluster) Current(ctx context.Context, inputs cache.Key) (orchestrator.Release, bool, error) {
	records, err := c.revisions(ctx)
	if err != nil {
		return orchestrator.Release{}, false, c.fault("ask for the release that stands", err)
	}
	deployed := 0
	for _, record := range records {
		if record.Labels["status"] == "deployed" {
			deployed = revisionOf(record)
		}
	}
	current := len(records) > 0 && standsOf(records[len(records)-1].Labels, inputs.String())
	return c.released(orchestrator.ReleaseUnchanged, deployed), current, nil
}

// revisions are the records of the release without what is in them, oldest first.
func (c *Cluster) revisions(ctx context.Context) ([]metav1.PartialObjectMetadata, error) {
	client, err := metadata.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	all, err := client.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(c.Namespace).
		List(ctx, metav1.ListOptions{LabelSelector: c.records()})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all.Items, func(a, b metav1.PartialObjectMetadata) int { return revisionOf(a) - revisionOf(b) })
	return all.Items, nil
}

// revisionOf is the revision of a record, zero if it does not say.
func revisionOf(record metav1.PartialObjectMetadata) int {
	revision, _ := strconv.Atoi(record.Labels["version"])
	return revision
}

// records selects the Secrets in which Helm keeps the revisions.
func (c *Cluster) records() string {
	return labels.Set{"owner": "helm", "name": c.Name}.String()
}

// standsOf tells whether a record is of a deployed revision made of the inputs.
func standsOf(record map[string]string, inputs string) bool {
	return record["status"] == "deployed" &&
		record[inputsLabel] == inputsValue(inputs) && ownRecord(record)
}

// ownRecord tells whether we made the revision of a record.
func ownRecord(record map[string]string) bool {
	return record[revisionLabel] != "" && record[revisionLabel] == record["version"]
}

// released describes a revision.
func (c *Cluster) released(status string, revision int) orchestrator.Release {
	return orchestrator.Release{Status: status, Revision: revision, Namespace: c.Namespace, Server: c.Server}
}
