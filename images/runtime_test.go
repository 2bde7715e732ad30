package images_test

import (
	"context"
	"errors"
	"testing"

	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// pinning answers every reference with a digest of its platform.
type pinning struct{ asked []string }

func (p *pinning) Resolve(_ context.Context, reference, platform string) (string, error) {
	p.asked = append(p.asked, reference+" "+platform)
	return "sha256:" + platform, nil
}

// keeping is an engine that keeps the step and gives an image out.
type keeping struct {
	step  orchestrator.Step
	image orchestrator.Artifact
}

func (k *keeping) Build(_ context.Context, step orchestrator.Step, _ []orchestrator.Result) (orchestrator.Artifact, error) {
	k.step = step
	return k.image, nil
}

func TestRuntimeImage(t *testing.T) {
	b := newBench(t, t.TempDir())
	image := b.build(t, step(t, "x", "t", map[string]string{"a": files{"a": "1"}.write(t, t.TempDir())}))
	resolver, engine, to := &pinning{}, &keeping{image: image}, newLayout(t, b)
	r := images.Runtime{Resolver: resolver, Builder: engine, Registry: to}
	platforms := []string{"linux/amd64", "linux/arm64"}
	got, err := r.Make(t.Context(), "mirror/runtime", "1.0.0", platforms, templates.NPM{Registry: "https://npm.test"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "reference", got.String(), "mirror/runtime:1.0.0@"+image.Digest())
	same(t, "pinned", resolver.asked, []string{templates.RuntimeBase + " linux/amd64", templates.RuntimeBase + " linux/arm64"})
	same(t, "digests", engine.step.Recipe.Digests, []string{"sha256:linux/amd64", "sha256:linux/arm64"})
	same(t, "packages", engine.step.Recipe.Packages, []string{"@toa.io/runtime@1.0.0"})
	if has, err := to.Has(t.Context(), orchestrator.Reference{Repository: "mirror/runtime", Tag: "1.0.0"}); has != image.Digest() || err != nil {
		t.Errorf("Has: got %q, %v", has, err)
	}
	var needs *images.NeedsEngineError
	r.Builder = b.native
	if _, err := r.Make(t.Context(), "mirror/runtime", "1.0.0", platforms, templates.NPM{}); !errors.As(err, &needs) {
		t.Errorf("Make natively: got %v, want a NeedsEngineError", err)
	}
	if _, err := r.Make(t.Context(), "mirror/runtime", "^1", platforms, templates.NPM{}); err == nil {
		t.Error("Make of a range: no error")
	}
}
