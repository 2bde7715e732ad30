package orchestrator

import (
	"toa.io/toa/cache"
	"toa.io/toa/graph"
)

// Standing is the plan of a run that found every image published, as far as it
// takes to find that again while nothing changes. It holds no secret.
type Standing struct {
	Context  string          `json:"context"`
	Registry string          `json:"registry,omitempty"`
	Images   []StandingImage `json:"images"`
	// Release is the key of what the run released, zero where that was nothing.
	Release cache.Key `json:"release"`
}

// StandingImage is one image of it.
type StandingImage struct {
	ID        graph.ID  `json:"id"`
	Key       cache.Key `json:"key"`
	Reference Reference `json:"reference"`
	Reason    string    `json:"reason"`
}

// Stand takes down a plan that was carried out and had nothing to build.
func Stand(p *Plan, release *Delivery) Standing {
	s := Standing{Context: p.Context, Registry: p.Registry, Images: make([]StandingImage, len(p.Steps))}
	for i, step := range p.Steps {
		s.Images[i] = StandingImage{step.ID, step.Key, step.Reference, step.Reason}
	}
	if release != nil {
		s.Release = release.key(p)
	}
	return s
}

// Plan is the plan once more, if the index still has each image, with the digest
// that it had. It is good for Build only, which finds nothing to do.
func (s Standing) Plan(index Index) (*Plan, bool) {
	p := &Plan{Context: s.Context, Registry: s.Registry, Steps: make([]Step, len(s.Images)), Published: map[graph.ID]Reference{}, released: s.Release}
	host := RegistryHost(s.Registry)
	for i, image := range s.Images {
		step := Step{ID: image.ID, Key: image.Key, Reference: image.Reference, Reason: image.Reason, Cached: true}
		// A dependencies image that nobody needs has no row.
		if image.Reference.Digest != "" {
			entry, err := index.Get(host, image.Reference.Repository, image.Key)
			if err != nil || entry.Digest != image.Reference.Digest {
				return nil, false
			}
			step.VerifiedAt = entry.VerifiedAt
		}
		p.Steps[i] = step
	}
	return p, true
}

// Offline tells whether images that nothing is released of are taken from the
// index without a question to the registry.
func (t Trust) Offline() bool { return t.mode == trustRelease || t.mode == trustNever }
