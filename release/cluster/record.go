package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	helmrelease "helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deployed is the record of the revision that stands, nil where none does. It
// is asked for by one request, which ctx ends: Helm's own storage knows no
// contexts.
func (c *Cluster) deployed(ctx context.Context) (*helmrelease.Release, error) {
	found, err := c.kube.CoreV1().Secrets(c.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: c.records() + ",status=deployed",
	})
	if err != nil {
		return nil, c.fault("read the release that stands", err)
	}
	var last *helmrelease.Release
	for _, secret := range found.Items {
		record, err := readRecord(secret.Data["release"])
		if err != nil {
			return nil, fmt.Errorf("read record %s in namespace %s: %w", secret.Name, c.Namespace, err)
		}
		// Two are marked as deployed while one takes the other's place.
		if last == nil || record.Version > last.Version {
			last = record
		}
	}
	return last, nil
}

// readRecord reads what Helm keeps of a revision: JSON, gzip, base64.
func readRecord(data []byte) (*helmrelease.Release, error) {
	packed, err := base64.StdEncoding.AppendDecode(nil, data)
	if err != nil {
		return nil, err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	record := new(helmrelease.Release)
	return record, json.NewDecoder(unpacked).Decode(record)
}

// writeRecord is what Helm will keep of a revision.
func writeRecord(record any) ([]byte, error) {
	text, err := json.Marshal(record)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return base64.StdEncoding.AppendEncode(nil, packed.Bytes()), nil
}
