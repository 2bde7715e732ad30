package orchestrator

import (
	"context"
	"errors"
	"sync"

	"toa.io/toa/graph"
)

// Preparer is a Registry that can tell before an image is built whether it could
// be published. Calls overlap.
type Preparer interface {
	// Prepare returns the reason why the image cannot be published, which is
	// ErrNoRepository where there is no place for it.
	Prepare(ctx context.Context, step Step) error
}

// ErrNoRepository says that a registry has no such repository and makes none.
var ErrNoRepository = errors.New("no such repository")

// prepare finds what would keep images from being published before any is
// built. All repositories that are missing are named; anything else that is
// wrong is likely so for all images, and named once.
func (r *run) prepare(ctx context.Context) error {
	registry, ok := r.Registry.(Preparer)
	if !ok {
		return nil
	}
	var mu sync.Mutex // guards missing
	missing := map[graph.ID]error{}
	err := r.each(ctx, func(s *Step) bool { return !s.Cached }, func(ctx context.Context, s *Step) error {
		err := registry.Prepare(ctx, *s)
		if err != nil {
			err = &BuildError{ID: s.ID, Err: err}
		}
		if !errors.Is(err, ErrNoRepository) {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		missing[s.ID] = err
		return nil
	})
	for _, id := range sortedKeys(missing) {
		err = errors.Join(err, missing[id])
	}
	return err
}
