package images_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

// A page that is shown in the place of a registry, as hotels and companies do it,
// answers everything with 200. Nothing is published for that.
func TestPageInARegistrysPlace(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	s := step(t, reg.host+"/shop/composition-edge", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
	s.Recipe.Platforms = []string{"linux/amd64", "linux/arm64"}
	image := b.build(t, s)
	whole := s.Reference
	whole.Digest = b.publish(t, b.remote, s, image)
	reg.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(w, "<html>please log in</html>")
		return true
	})
	for name, ask := range map[string]func(*images.Remote) error{
		"Has":     func(r *images.Remote) error { _, err := r.Has(t.Context(), s.Reference); return err },
		"Publish": func(r *images.Remote) error { _, err := r.Publish(t.Context(), s, image); return err },
	} {
		var page *images.NoManifestError
		if err := ask(newRun(b)); !errors.As(err, &page) || page.Host != reg.host || !strings.Contains(page.Hint(), "/v2/") {
			t.Errorf("%s: %v, want that it is no manifest", name, err)
		}
	}
	if err := newRun(b).Verify(t.Context(), whole); err == nil || errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Verify: %v, want an error that is no word on the image", err)
	}
	lost, err := (&images.Inspector{Client: b.client}).Inspect(t.Context(), whole.Repository, whole.Digest)
	if len(lost) == 0 && err == nil {
		t.Error("Inspect says that the image is whole")
	}
}

// What a registry states as a digest and is none is found out of the content.
func TestDigestThatIsNone(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	s := step(t, reg.host+"/shop/composition-edge", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
	want := b.publish(t, b.remote, s, b.build(t, s))
	for _, stated := range []string{"", "none", "sha256:00", "md5:" + strings.Repeat("0", 32)} {
		reg.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodHead {
				return false
			}
			w.Header().Set("Docker-Content-Digest", stated)
			return true
		})
		if got, err := newRun(b).Has(t.Context(), s.Reference); err != nil || got != want {
			t.Errorf("Has, where %q is stated: %s, %v, want %s", stated, got, err, want)
		}
	}
}

func TestNamesThatRegistriesCannotHave(t *testing.T) {
	for name, hint := range map[string]string{
		"http:/127.0.0.1:5000/shop":  "registry.insecure",
		"https://registry.test/shop": "host/path",
		"https:/registry.test/shop":  "host/path",
		"registry.test/Shop/edge":    "registry.test/shop/edge",
		"registry.test/a b":          "",
	} {
		_, err := newBench(t, t.TempDir()).remote.Has(t.Context(), orchestrator.Reference{Repository: name, Tag: "t"})
		var wrong *images.NameError
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Hint(), hint) || hint == "" && wrong.Hint() != "" {
			t.Errorf("Has(%s): %v, want a hint of %q", name, err, hint)
		}
	}
}
