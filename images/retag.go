package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"toa.io/toa/cache"
	"toa.io/toa/internal/failpoint"
	"toa.io/toa/orchestrator"
)

// Tag makes a tag name the image of a reference, which must carry a digest. The
// tag is moved from whatever it named before: it is of those that say where an
// image runs, not what is in it. Nothing but a manifest is read, and nothing is
// written where the tag is there already. The error of an image that is gone is
// cache.ErrNotFound.
func (r *Remote) Tag(ctx context.Context, ref orchestrator.Reference, tag string) error {
	repo, err := r.repository(ref)
	if err == nil {
		err = r.retag(ctx, repo, ref, tag)
	}
	if err != nil {
		return fmt.Errorf("move tag %s to %s: %w", tag, ref, err)
	}
	return nil
}

func (r *Remote) retag(ctx context.Context, repo *repository, ref orchestrator.Reference, tag string) error {
	stands, err := repo.digest(ctx, tag)
	if stands == ref.Digest || err != nil && !errors.Is(err, cache.ErrNotFound) {
		return err
	}
	m, raw, err := r.manifest(ctx, repo, ref)
	if err != nil {
		return err
	}
	if err := failpoint.At(failpoint.TagMove); err != nil {
		return err
	}
	if err := repo.put(ctx, document{Descriptor: describe(m.mediaType(), raw), raw: raw}, tag); err != nil {
		return err
	}
	return failpoint.At(failpoint.TagMoved)
}

// manifest reads what a digest names, from the cache where it is at hand.
func (r *Remote) manifest(ctx context.Context, repo *repository, ref orchestrator.Reference) (m manifest, raw []byte, err error) {
	digest, err := v1.NewHash(ref.Digest)
	if err != nil {
		return m, nil, err
	}
	if raw, err = (shelf{blobs: r.Blobs, from: repo, reference: ref.String()}).document(ctx, digest); err != nil {
		return m, nil, err
	}
	m, err = parseManifest(raw)
	return m, raw, err
}

// mediaType is what the manifest says of itself, or else what it must be: OCI
// manifests need not say.
func (m manifest) mediaType() types.MediaType {
	if m.Manifests != nil {
		return cmp.Or(m.MediaType, types.OCIImageIndex)
	}
	return cmp.Or(m.MediaType, types.OCIManifestSchema1)
}
