package images

import (
	"context"
	"sync"
)

// turns lets one caller at a time work on a key, so that parallel images make
// or upload what they share once: who waited finds it done. The work runs
// under its own caller's context, never under another's.
type turns[K comparable] struct {
	mu    sync.Mutex // guards taken
	taken map[K]chan struct{}
}

// take waits for the key's turn. The caller calls release.
func (t *turns[K]) take(ctx context.Context, key K) (release func(), err error) {
	for {
		t.mu.Lock()
		busy, taken := t.taken[key]
		if !taken {
			break
		}
		t.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer t.mu.Unlock()
	if t.taken == nil {
		t.taken = map[K]chan struct{}{}
	}
	mine := make(chan struct{})
	t.taken[key] = mine
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.taken, key)
		close(mine)
	}, nil
}
