package orchestrator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"toa.io/toa/cache"
	"toa.io/toa/graph"
)

// savedFormat is the version of Saved.
const savedFormat = "toa/plan/v1"

// Saved is a plan that was put aside, to be carried out as it stands or not at
// all. It holds no secret, and nothing of the machine that it was made on.
type Saved struct {
	Context     string `json:"context"`
	Environment string `json:"environment,omitempty"`
	Registry    string `json:"registry,omitempty"`
	Mono        bool   `json:"mono,omitempty"`
	// Images are those of the plan, in its order.
	Images []SavedImage `json:"images"`
	// Published are images that run as their makers publish them.
	Published map[graph.ID]string `json:"published,omitempty"`
	// Versions are those of components.
	Versions map[string]string `json:"versions,omitempty"`
	// Release is nil where the plan ends with none.
	Release *SavedRelease `json:"release,omitempty"`
}

// SavedImage is one image of a saved plan.
type SavedImage struct {
	ID graph.ID `json:"id"`
	// Build says that the image was not published when the plan was made.
	Build     bool   `json:"build"`
	Reason    string `json:"reason,omitempty"`
	Key       string `json:"key"`
	Reference string `json:"reference"`
	// Inputs are what an image to be built is made of.
	Inputs []cache.Input `json:"inputs,omitempty"`
}

// SavedRelease is the release that a saved plan ends with.
type SavedRelease struct {
	// Kind is "apply" or "package".
	Kind string `json:"kind"`
	// Cluster is the context of the kubeconfig, Server where that leads to.
	Cluster   string `json:"cluster,omitempty"`
	Server    string `json:"server,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Deployed is the revision that stood, zero for none; negative where that
	// does not matter.
	Deployed int `json:"deployed"`
	// Inputs is the key of what the manifests are made of besides images.
	Inputs string `json:"inputs"`
	// Manifests are as they would be applied, with Placeholder for the digests
	// of images that are not built yet.
	Manifests string `json:"manifests"`
}

// Save puts a plan aside.
func Save(p *Plan) Saved {
	s := Saved{Context: p.Context, Registry: p.Registry, Versions: p.Versions, Published: map[graph.ID]string{}}
	for _, step := range p.Steps {
		image := SavedImage{
			ID: step.ID, Build: !step.Cached, Reason: step.Reason,
			Key: step.Key.String(), Reference: step.Reference.String(),
		}
		if image.Build {
			image.Inputs = Inputs(step)
		}
		s.Images = append(s.Images, image)
	}
	for id, reference := range p.Published {
		s.Published[id] = reference.String()
	}
	return s
}

// envelope is what is written: a plan that cannot be changed by accident.
type envelope struct {
	Format string `json:"format"`
	// Checksum is the BLAKE3 of the plan as compact JSON.
	Checksum string          `json:"checksum"`
	Plan     json.RawMessage `json:"plan"`
}

// Encode writes the plan for people and for ParseSaved. Equal plans are equal
// bytes.
func (s Saved) Encode() ([]byte, error) {
	body, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode plan: %w", err)
	}
	text, err := json.MarshalIndent(envelope{savedFormat, cache.Digest(body).String(), body}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode plan: %w", err)
	}
	return append(text, '\n'), nil
}

// ParseSaved reads what Encode wrote. Anything else is a *SavedError.
func ParseSaved(data []byte) (Saved, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return Saved{}, &SavedError{"it is no saved plan: " + err.Error()}
	}
	if e.Format != savedFormat {
		return Saved{}, &SavedError{fmt.Sprintf("its format is %q, expected %q", e.Format, savedFormat)}
	}
	var body bytes.Buffer
	if err := json.Compact(&body, e.Plan); err != nil || cache.Digest(body.Bytes()).String() != e.Checksum {
		return Saved{}, &SavedError{"it was changed since it was saved: its checksum is another"}
	}
	var s Saved
	if err := json.Unmarshal(e.Plan, &s); err != nil {
		return Saved{}, &SavedError{err.Error()}
	}
	return s, nil
}

// SavedError is a file that cannot be carried out as a plan.
type SavedError struct{ Why string }

func (e *SavedError) Error() string { return "read plan: " + e.Why }

// Hint says how to get one.
func (e *SavedError) Hint() string { return "make it anew: toa graph plan -o FILE" }

// Mistake is true: it is found before anything is touched.
func (*SavedError) Mistake() bool { return true }

// Moved names everything in which now, a plan made of what stands now, differs
// from the one that was saved. Images that have been published since are none
// of it.
func (s Saved) Moved(now Saved) []string {
	moved := changed("context", s.Context, now.Context)
	moved = append(moved, changed("environment", s.Environment, now.Environment)...)
	moved = append(moved, changed("registry", s.Registry, now.Registry)...)
	moved = append(moved, s.movedImages(now)...)
	moved = append(moved, differences("image of ", s.Published, now.Published)...)
	moved = append(moved, differences("version of ", s.Versions, now.Versions)...)
	return append(moved, s.Release.moved(now.Release)...)
}

func (s Saved) movedImages(now Saved) []string {
	present := make(map[graph.ID]SavedImage, len(now.Images))
	for _, image := range now.Images {
		present[image.ID] = image
	}
	var moved []string
	for _, image := range s.Images {
		other, ok := present[image.ID]
		delete(present, image.ID)
		switch {
		case !ok:
			moved = append(moved, string(image.ID)+" is gone")
		case image.Key != other.Key:
			moved = append(moved, string(image.ID)+": "+image.difference(other))
		case image.hasOtherDigest(other):
			moved = append(moved, fmt.Sprintf("%s is published as %s, not as %s", image.ID, other.Reference, image.Reference))
		}
	}
	for _, id := range sortedKeys(present) {
		moved = append(moved, string(id)+" is new")
	}
	return moved
}

// difference says why two images of an ID are not the same.
func (i SavedImage) difference(now SavedImage) string {
	if len(i.Inputs) > 0 && len(now.Inputs) > 0 {
		return summarize(Compare(i.Inputs, now.Inputs))
	}
	if now.Build {
		return now.Reason
	}
	return "its inputs changed"
}

// hasOtherDigest tells whether an image that was published then is another now.
func (i SavedImage) hasOtherDigest(now SavedImage) bool {
	return i.Reference != now.Reference && strings.Contains(i.Reference, "@") && strings.Contains(now.Reference, "@")
}

func (r *SavedRelease) moved(now *SavedRelease) []string {
	if r == nil || now == nil {
		if r == now {
			return nil
		}
		return []string{"whether there is a release"}
	}
	moved := changed("kind of release", r.Kind, now.Kind)
	moved = append(moved, changed("cluster", r.Cluster, now.Cluster)...)
	moved = append(moved, changed("server", r.Server, now.Server)...)
	moved = append(moved, changed("namespace", r.Namespace, now.Namespace)...)
	moved = append(moved, changed("name of the release", r.Name, now.Name)...)
	if r.Deployed >= 0 && r.Deployed != now.Deployed {
		moved = append(moved, fmt.Sprintf("deployed revision was %d, is %d", r.Deployed, now.Deployed))
	}
	if r.Inputs != now.Inputs {
		moved = append(moved, "context.toa.yaml, what packages say, or toa itself")
	}
	return moved
}

func changed(what, was, is string) []string {
	if was == is {
		return nil
	}
	return []string{fmt.Sprintf("%s was %q, is %q", what, was, is)}
}

// differences names the keys of two maps that differ.
func differences[K ~string](what string, was, is map[K]string) []string {
	var moved []string
	for _, key := range sortedKeys(was) {
		if now, ok := is[key]; !ok {
			moved = append(moved, what+string(key)+" is gone")
		} else if now != was[key] {
			moved = append(moved, fmt.Sprintf("%s%s was %s, is %s", what, key, was[key], now))
		}
	}
	for _, key := range sortedKeys(is) {
		if _, ok := was[key]; !ok {
			moved = append(moved, what+string(key)+" is new")
		}
	}
	return moved
}

// MovedError is a saved plan that no longer is what would be done.
type MovedError struct{ Moved []string }

func (e *MovedError) Error() string {
	return "the plan was made of something else; since then moved: " + strings.Join(e.Moved, "; ")
}

// Hint says how to go on.
func (e *MovedError) Hint() string {
	return "look at what would be done now, and save it: toa graph plan --diff -o FILE"
}

// Mistake is true: it is found before anything is touched.
func (*MovedError) Mistake() bool { return true }
