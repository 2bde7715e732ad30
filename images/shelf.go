package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"toa.io/toa/cache"
)

// manifest is a manifest or an index, as it was read: an index has Manifests.
type manifest struct {
	SchemaVersion int64           `json:"schemaVersion"`
	MediaType     types.MediaType `json:"mediaType"`
	Config        v1.Descriptor   `json:"config"`
	Layers        []v1.Descriptor `json:"layers"`
	Manifests     []v1.Descriptor `json:"manifests"`
}

func parseManifest(raw []byte) (manifest, error) {
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return manifest{}, fmt.Errorf("read manifest: %w", err)
	}
	if m.SchemaVersion != 2 {
		return manifest{}, fmt.Errorf("read manifest: schema version %d is not 2", m.SchemaVersion)
	}
	if m.Manifests == nil && m.Config.Digest.Hex == "" {
		return manifest{}, errors.New("read manifest: it has neither a config nor manifests")
	}
	for _, d := range append(m.Layers[:len(m.Layers):len(m.Layers)], m.Config) {
		if d.Size < 0 {
			return manifest{}, fmt.Errorf("read manifest: %s has a negative size", short(d.Digest))
		}
	}
	return m, nil
}

// blobs are the layers and the config, without layers that registries are not
// meant to hold; an index has none.
func (m manifest) blobs() []v1.Descriptor {
	var all []v1.Descriptor
	for _, layer := range m.Layers {
		if layer.MediaType.IsDistributable() {
			all = append(all, layer)
		}
	}
	if m.Config.Size > 0 {
		all = append(all, m.Config)
	}
	return all
}

// documentOf reads the manifest or index that target, a tag or a digest, names.
// What is not what its digest says is cache.ErrDamaged.
func documentOf(ctx context.Context, from library, target string) ([]byte, error) {
	raw, err := from.manifest(ctx, target)
	if err != nil {
		return nil, err
	}
	if got := describe("", raw).Digest.String(); strings.Contains(target, ":") && got != target {
		return nil, fmt.Errorf("%w: got %s, want %s", cache.ErrDamaged, got, target)
	}
	return raw, nil
}

// shelf reads manifests and configs of an image that is published somewhere:
// from the cache, or from there and into the cache.
type shelf struct {
	blobs *cache.Blobs
	from  library
	// reference is how the user calls the image.
	reference string
}

// document reads a manifest by its digest.
func (s shelf) document(ctx context.Context, digest v1.Hash) ([]byte, error) {
	if raw, err := s.blobs.Bytes(digest.String()); err == nil {
		return raw, nil
	}
	raw, err := documentOf(ctx, s.from, digest.String())
	if err != nil {
		return nil, err
	}
	_, _ = s.blobs.Keep(raw) // a full disk costs a request next time
	return raw, nil
}

func (s shelf) config(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	if raw, err := s.blobs.Bytes(d.Digest.String()); err == nil {
		return raw, nil
	}
	if d.Size > cache.MaxBlob {
		return nil, fmt.Errorf("image config is larger than %d MiB", cache.MaxBlob>>20)
	}
	body, err := s.from.open(ctx, d)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	_, _ = s.blobs.Keep(raw)
	return raw, nil
}

// maxNesting bounds indexes within indexes.
const maxNesting = 4

// find looks in a manifest or index for the image of a platform.
func (s shelf) find(ctx context.Context, raw []byte, p v1.Platform, depth int) (child, error) {
	m, err := parseManifest(raw)
	if err != nil {
		return child{}, err
	}
	if m.Manifests == nil {
		return s.single(ctx, raw, m, p)
	}
	if depth == maxNesting {
		return child{}, errors.New("indexes are nested too deeply")
	}
	missing := &NoPlatformError{Base: s.reference, Platform: platformText(p)}
	for _, d := range candidates(m.Manifests, p, missing) {
		found, err := s.nested(ctx, d, p, depth)
		var other *NoPlatformError
		if !errors.As(err, &other) {
			return found, err
		}
		missing.Has = append(missing.Has, other.Has...)
	}
	return child{}, missing
}

// candidates are the entries of an index that are for the platform, or else
// those that do not say. What the others are for is noted in missing.
func candidates(all []v1.Descriptor, p v1.Platform, missing *NoPlatformError) []v1.Descriptor {
	var silent []v1.Descriptor
	for _, d := range all {
		switch {
		case d.Platform == nil:
			silent = append(silent, d)
		case samePlatform(*d.Platform, p):
			return []v1.Descriptor{d}
		case d.Platform.OS != "unknown": // attestations
			missing.Has = append(missing.Has, platformText(*d.Platform))
		}
	}
	return silent
}

func (s shelf) nested(ctx context.Context, d v1.Descriptor, p v1.Platform, depth int) (child, error) {
	raw, err := s.document(ctx, d.Digest)
	if err != nil {
		return child{}, err
	}
	return s.find(ctx, raw, p, depth+1)
}

// single reads the image of one manifest and checks that it is for the platform.
func (s shelf) single(ctx context.Context, raw []byte, m manifest, p v1.Platform) (child, error) {
	text, err := s.config(ctx, m.Config)
	if err != nil {
		return child{}, fmt.Errorf("read config: %w", err)
	}
	var file v1.ConfigFile
	if err := json.Unmarshal(text, &file); err != nil {
		return child{}, fmt.Errorf("read config: %w", err)
	}
	if !runsOn(file, p) {
		own := v1.Platform{OS: file.OS, Architecture: file.Architecture, Variant: file.Variant}
		return child{}, &NoPlatformError{Base: s.reference, Platform: platformText(p), Has: []string{platformText(own)}}
	}
	if len(file.RootFS.DiffIDs) != len(m.Layers) {
		return child{}, fmt.Errorf("read config: it has %d layers, the manifest has %d", len(file.RootFS.DiffIDs), len(m.Layers))
	}
	found := child{
		document: document{Descriptor: describe(m.MediaType, raw), raw: raw},
		config:   content{Descriptor: m.Config, origin: memory(text)},
		file:     file,
	}
	for _, layer := range m.Layers {
		found.layers = append(found.layers, content{Descriptor: layer, origin: s.from})
	}
	return found, nil
}

// pinned reads the image of a platform by the digest of its manifest, or of an
// index that has it.
func (s shelf) pinned(ctx context.Context, digest string, p v1.Platform) (child, error) {
	hash, err := v1.NewHash(digest)
	if err != nil {
		return child{}, fmt.Errorf("digest of %s: %w", s.reference, err)
	}
	raw, err := s.document(ctx, hash)
	if errors.Is(err, cache.ErrNotFound) {
		return child{}, fmt.Errorf("%s has no manifest %s any more", s.reference, digest)
	}
	if err != nil {
		return child{}, fmt.Errorf("read %s: %w", s.reference, err)
	}
	found, err := s.find(ctx, raw, p, 0)
	var missing *NoPlatformError
	switch {
	case errors.As(err, &missing):
		return child{}, missing
	case err != nil:
		return child{}, fmt.Errorf("read %s: %w", s.reference, err)
	}
	return found, nil
}
