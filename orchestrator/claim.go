package orchestrator

import (
	"context"

	"toa.io/toa/cache"
)

// claim lets no other process of this machine make the image meanwhile. Where
// one has published it since the plan was made, the step is cached afterwards.
func (r *run) claim(ctx context.Context, s *Step) (release func(), err error) {
	if r.Claims == nil || s.Anew {
		return func() {}, nil
	}
	host := RegistryHost(r.plan.Registry)
	release, waited, err := r.Claims.Take(ctx, claimName(host, *s), func(text string) {
		r.Observe.send(NoticeEvent{Text: string(s.ID) + ": " + text})
	})
	if err != nil {
		return nil, err
	}
	if _, err := r.Index.Fresh(host, s.Reference.Repository, s.Key); err != nil && !waited {
		return release, nil
	}
	if err := r.probe(ctx, s); err != nil {
		release()
		return nil, err
	}
	if s.Cached {
		s.Reason = "another process has made it meanwhile"
	}
	return release, nil
}

func claimName(host string, s Step) cache.Key {
	h := cache.NewHasher("toa/claim/v1")
	h.Field("registry", host)
	h.Field("repository", s.Reference.Repository)
	h.Key("key", s.Key)
	return h.Sum()
}
