package images_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

func TestTagMoves(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	publish := func(tag, content string, platforms ...string) orchestrator.Reference {
		s := step(t, reg.host+"/shop/composition-edge", tag, map[string]string{"a": files{"index.js": content}.write(t, t.TempDir())})
		s.Recipe.Platforms = platforms
		ref := s.Reference
		ref.Digest = b.publish(t, b.remote, s, b.build(t, s))
		return ref
	}
	one := publish("one", "1", "linux/amd64")
	two := publish("two", "2", "linux/amd64", "linux/arm64")
	tagged := func(by *images.Remote, want orchestrator.Reference, requests ...string) {
		t.Helper()
		reg.requests()
		if err := by.Tag(t.Context(), want, "production"); err != nil {
			t.Fatal(err)
		}
		same(t, "requests", reg.requests(), requests)
		got, err := newBench(t, t.TempDir()).remote.Has(t.Context(), orchestrator.Reference{Repository: want.Repository, Tag: "production"})
		if err != nil || got != want.Digest {
			t.Errorf("production is %q, %v, want %s", got, err, want.Digest)
		}
	}
	tagged(b.remote, one, "HEAD manifest", "PUT manifest")
	tagged(b.remote, one, "HEAD manifest")
	elsewhere := newBench(t, t.TempDir()).remote // has no manifest at hand
	tagged(elsewhere, two, "HEAD manifest", "GET manifest", "PUT manifest")
	tagged(elsewhere, one, "HEAD manifest", "GET manifest", "PUT manifest")
}

func TestTagOfNothing(t *testing.T) {
	reg := newRegistry(t)
	remote := newBench(t, t.TempDir()).remote
	gone := orchestrator.Reference{Repository: reg.host + "/shop/x", Tag: "t", Digest: "sha256:" + strings.Repeat("1", 64)}
	if err := remote.Tag(t.Context(), gone, "production"); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("an image that is gone: %v", err)
	}
	gone.Digest = ""
	if err := remote.Tag(t.Context(), gone, "production"); err == nil {
		t.Error("an image without a digest is tagged")
	}
	gone.Repository = "NO REPOSITORY"
	if err := remote.Tag(t.Context(), gone, "production"); err == nil {
		t.Error("no repository is tagged")
	}
}

func TestTagFails(t *testing.T) {
	reg := newRegistry(t)
	reg.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodHead {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	remote := newBench(t, t.TempDir()).remote
	ref := orchestrator.Reference{Repository: reg.host + "/shop/x", Tag: "t", Digest: "sha256:" + strings.Repeat("1", 64)}
	var answer *images.RegistryError
	if err := remote.Tag(t.Context(), ref, "production"); !errors.As(err, &answer) || !strings.Contains(err.Error(), "production") {
		t.Errorf("a registry that refuses: %v", err)
	}
}
