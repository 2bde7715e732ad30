package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
)

// Media types of charts in registries, as Helm has registered them.
const (
	chartConfigType types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	chartLayerType  types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// chartCreated is when every chart says that it was made, so that equal charts
// are equal artifacts.
const chartCreated = "1970-01-01T00:00:00Z"

// maxChart bounds a package that is read from a registry: Helm refuses to load
// larger ones.
const maxChart = 100 << 20

// Chart is a package of a Helm chart.
type Chart struct {
	Name, Version, Description string
	// Metadata is Chart.yaml as JSON.
	Metadata []byte
	// Data is the package, a gzipped tar.
	Data []byte
}

// PublishChart makes a registry hold a chart below base, where `helm pull
// oci://<base>/<name> --version <version>` finds it, and returns the reference.
// A registry that holds it already is only asked. Another chart of the same
// version is replaced, as `helm push` does it.
func (r *Remote) PublishChart(ctx context.Context, base string, c Chart) (orchestrator.Reference, error) {
	ref := ChartReference(base, c.Name, c.Version)
	repo, err := r.repository(ref)
	if err != nil {
		return ref, err
	}
	artifact, blobs, err := c.artifact()
	if err != nil {
		return ref, err
	}
	ref.Digest = artifact.Digest.String()
	if err := r.publishArtifact(ctx, repo, artifact, blobs, ref.Tag); err != nil {
		return ref, fmt.Errorf("publish chart %s:%s: %w", ref.Repository, ref.Tag, err)
	}
	return ref, nil
}

// ChartReference is where a chart is published below base. A version is a tag
// but for the plus sign, which tags cannot have.
func ChartReference(base, name, version string) orchestrator.Reference {
	base = strings.TrimPrefix(base, ChartScheme)
	return orchestrator.Reference{Repository: path.Join(base, name), Tag: strings.ReplaceAll(version, "+", "_")}
}

// ChartScheme begins references of charts, as Helm takes them.
const ChartScheme = "oci://"

func (r *Remote) publishArtifact(ctx context.Context, repo *repository, artifact document, blobs []content, tag string) error {
	stands, err := repo.digest(ctx, tag)
	if stands == artifact.Digest.String() || err != nil && !errors.Is(err, cache.ErrNotFound) {
		return err
	}
	for _, blob := range blobs {
		if err := r.ensure(ctx, repo, blob, true); err != nil {
			return err
		}
	}
	return repo.put(ctx, artifact, tag)
}

// artifact is the manifest of a chart and its blobs.
func (c Chart) artifact() (document, []content, error) {
	config := content{Descriptor: describe(chartConfigType, c.Metadata), origin: memory(c.Metadata)}
	layer := content{Descriptor: describe(chartLayerType, c.Data), origin: memory(c.Data)}
	doc, err := newDocument(types.OCIManifestSchema1, v1.Manifest{
		SchemaVersion: 2,
		MediaType:     types.OCIManifestSchema1,
		Config:        config.Descriptor,
		Layers:        []v1.Descriptor{layer.Descriptor},
		Annotations:   c.annotations(),
	})
	return doc, []content{config, layer}, err
}

// annotations are those that Helm gives.
func (c Chart) annotations() map[string]string {
	all := map[string]string{
		"org.opencontainers.image.title":   c.Name,
		"org.opencontainers.image.version": c.Version,
		"org.opencontainers.image.created": chartCreated,
	}
	if c.Description != "" {
		all["org.opencontainers.image.description"] = c.Description
	}
	return all
}

// FetchChart reads the package of a chart from a registry: by the digest where
// the reference has one. What is not there is cache.ErrNotFound.
func (r *Remote) FetchChart(ctx context.Context, ref orchestrator.Reference) ([]byte, error) {
	repo, err := r.Client.repository(strings.TrimPrefix(ref.Repository, ChartScheme))
	if err != nil {
		return nil, err
	}
	data, err := fetchChart(ctx, repo, ref)
	if err != nil {
		return nil, fmt.Errorf("fetch chart %s: %w", ref, err)
	}
	return data, nil
}

func fetchChart(ctx context.Context, repo *repository, ref orchestrator.Reference) ([]byte, error) {
	target := ref.Tag
	if ref.Digest != "" {
		target = ref.Digest
	}
	raw, err := documentOf(ctx, repo, target)
	if err != nil {
		return nil, err
	}
	layer, err := chartLayer(raw)
	if err != nil {
		return nil, err
	}
	blob, err := repo.open(ctx, layer)
	if err != nil {
		return nil, err
	}
	defer func() { _ = blob.Close() }()
	return io.ReadAll(blob)
}

// chartLayer finds the package in the manifest of a chart.
func chartLayer(raw []byte) (v1.Descriptor, error) {
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return v1.Descriptor{}, fmt.Errorf("read manifest: %w", err)
	}
	for _, layer := range m.Layers {
		if layer.MediaType != chartLayerType {
			continue
		}
		if layer.Size < 0 || layer.Size > maxChart {
			return v1.Descriptor{}, fmt.Errorf("read manifest: a package of %d bytes is no chart", layer.Size)
		}
		return layer, nil
	}
	return v1.Descriptor{}, errors.New("read manifest: it is no chart's: no layer is a package of Helm")
}
