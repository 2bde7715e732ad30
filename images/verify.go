package images

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
)

// Verify implements orchestrator.Verifier: of an index every image must be
// there too. That takes a request for each, and one more where the index itself
// is not at hand. Blobs are not asked for: a registry keeps those that its
// manifests name, or an Inspector finds out that it did not.
func (r *Remote) Verify(ctx context.Context, ref orchestrator.Reference) error {
	repo, err := r.repository(ref)
	if err != nil {
		return err
	}
	err = r.whole(ctx, repo, ref)
	if errors.Is(err, cache.ErrNotFound) {
		r.known.tag(tagAt{repo.String(), ref.Tag}, "") // it is to be published again
		return err
	}
	if err != nil {
		return fmt.Errorf("verify %s: %w", ref, err)
	}
	return nil
}

// whole is cache.ErrNotFound where a part of the image is gone.
func (r *Remote) whole(ctx context.Context, repo *repository, ref orchestrator.Reference) error {
	if err := r.intact(ctx, repo, ref); err != nil {
		return err
	}
	m, _, err := r.manifest(ctx, repo, ref)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelUploads)
	for _, one := range m.Manifests {
		group.Go(func() error {
			_, err := repo.digest(ctx, one.Digest.String())
			return err
		})
	}
	return group.Wait()
}
