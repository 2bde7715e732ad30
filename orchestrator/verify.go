package orchestrator

import "context"

// Verifier is a Registry that can tell whether all of an image is there that it
// has under a tag. Calls overlap.
type Verifier interface {
	// Verify returns cache.ErrNotFound if a part of the image with the
	// reference's digest is gone; then it is published again when asked to. Any
	// other error is no such answer.
	Verify(ctx context.Context, ref Reference) error
}

// has is the digest that the tag of a step carries. An image that is about to be
// released, or that was asked for because the index is not trusted with it, must
// be there with all of its platforms; else it counts as gone.
func (r *run) has(ctx context.Context, s *Step) (digest string, err error) {
	ref := Reference{Repository: s.Reference.Repository, Tag: s.Reference.Tag}
	if ref.Digest, err = r.Registry.Has(ctx, ref); err != nil {
		return "", err
	}
	if registry, ok := r.Registry.(Verifier); ok && (s.Cached || r.relies) {
		err = registry.Verify(ctx, ref)
	}
	return ref.Digest, err
}
