package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
)

// Losses knows what registries do not give although they may say that they have
// it: what an Inspector has found. Calls overlap.
type Losses interface {
	// Lost are digests of manifests and blobs of a repository.
	Lost(registry, repository string) []string
	// Mended is called when such a one was published again.
	Mended(registry, repository, digest string)
}

// missing is what the repository is known not to give.
func (r *Remote) missing(repo *repository) []string {
	if r.Losses == nil {
		return nil
	}
	return r.Losses.Lost(orchestrator.RegistryHost(repo.text), repo.text)
}

func (r *Remote) isLost(repo *repository, digest v1.Hash) bool {
	return slices.Contains(r.missing(repo), digest.String())
}

// replaced verifies that the registry gives a lost blob after it was sent again:
// one that has it damaged may keep what it has.
func (r *Remote) replaced(ctx context.Context, repo *repository, c content) error {
	if !r.isLost(repo, c.Digest) {
		return nil
	}
	err := repo.gives(ctx, c.Descriptor, io.Discard)
	if errors.Is(err, cache.ErrNotFound) || errors.Is(err, cache.ErrDamaged) {
		return &StillLostError{Host: repo.registry.RegistryStr(), Blob: c.Digest.String()}
	}
	r.mended(repo, c.Digest)
	return err
}

// StillLostError says that a registry does not give a blob although it was sent
// again.
type StillLostError struct{ Host, Blob string }

func (e *StillLostError) Error() string {
	return fmt.Sprintf("%s does not give %s, although it was sent again", e.Host, e.Blob)
}

// Hint is how to mend it.
func (e *StillLostError) Hint() string {
	return "its storage keeps what is damaged: delete the blob there, and build again"
}

// mended is for what the repository has been given.
func (r *Remote) mended(repo *repository, digest v1.Hash) {
	if r.isLost(repo, digest) {
		r.Losses.Mended(orchestrator.RegistryHost(repo.text), repo.text, digest.String())
	}
}

// intact is cache.ErrNotFound where the image of a digest has something that the
// repository does not give.
func (r *Remote) intact(ctx context.Context, repo *repository, ref orchestrator.Reference) error {
	lost := r.missing(repo)
	if len(lost) == 0 {
		return nil
	}
	return r.without(ctx, repo, ref, lost, 0)
}

// without looks for what is lost in a manifest or an index, and in what it names.
func (r *Remote) without(ctx context.Context, repo *repository, ref orchestrator.Reference, lost []string, depth int) error {
	if slices.Contains(lost, ref.Digest) {
		return cache.ErrNotFound
	}
	m, _, err := r.manifest(ctx, repo, ref)
	switch {
	case err != nil:
		return err
	case m.Manifests != nil && depth == maxNesting:
		return errors.New("indexes are nested too deeply")
	}
	for _, blob := range m.blobs() {
		if slices.Contains(lost, blob.Digest.String()) {
			return cache.ErrNotFound
		}
	}
	for _, one := range m.Manifests {
		ref.Digest = one.Digest.String()
		if err := r.without(ctx, repo, ref, lost, depth+1); err != nil {
			return err
		}
	}
	return nil
}
