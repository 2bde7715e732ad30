package cli

import (
	"context"
	"fmt"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/workspace"
)

// shareLimit is how long a run waits for what it can do without.
const shareLimit = 15 * time.Second

// sharing has the session's plans ask what other machines have published, where
// the context says that they share it, and returns what tells them of news: nil
// where nobody is told. Remote is nil where images go to no registry.
func (s *session) sharing(remote *images.Remote) (write func(context.Context)) {
	if !s.shares() || remote == nil {
		return nil
	}
	index := &images.SharedIndex{
		Remote: remote,
		Index:  s.index,
		Base:   orchestrator.Base(s.registry, s.workspace.Context.Name),
	}
	s.consult = s.dispensable(index.Read)
	if s.workspace.Context.Cache.Write == workspace.CacheNever {
		return nil
	}
	return s.dispensable(index.Write)
}

// shareReading is sharing for commands that publish nothing.
func (s *session) shareReading() error {
	if !s.shares() {
		return nil
	}
	blobs, err := cache.OpenBlobs(s.cache)
	if err != nil {
		return err
	}
	s.sharing(&images.Remote{Client: s.client(), Blobs: blobs})
	return nil
}

func (s *session) shares() bool {
	return s.workspace.Context.Cache.Shared == workspace.CacheRegistry && s.registry != ""
}

// dispensable makes of something that can fail something that costs a notice.
func (s *session) dispensable(do func(context.Context) error) func(context.Context) {
	return func(ctx context.Context) {
		limited, cancel := context.WithTimeoutCause(ctx, shareLimit, fmt.Errorf("no answer in %s", shareLimit))
		defer cancel()
		if err := do(limited); err != nil && ctx.Err() == nil {
			s.notice("going on without: " + err.Error())
		}
	}
}
