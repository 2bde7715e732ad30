package images_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

// What looks whether a repository takes uploads is the first upload.
func TestPrepareCostsNothing(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	s := step(t, reg.host+"/shop/composition-edge", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
	for range 2 {
		if err := b.remote.Prepare(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	s.Previous = "sha256:" + strings.Repeat("1", 64)
	if err := b.remote.Prepare(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	same(t, "requests", reg.requests(), []string{"POST upload"})
	s.Previous = ""
	b.publish(t, b.remote, s, b.build(t, s))
	same(t, "requests of the push", len(reg.requests()), 5)
}

// An upload that was opened long ago is opened anew.
func TestPreparedUploadThatRanOut(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	s := step(t, reg.host+"/shop/composition-edge", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
	if err := b.remote.Prepare(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	var gone atomic.Bool // blobs go up beside each other
	reg.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || gone.Swap(true) {
			return false
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"errors":[{"code":"BLOB_UPLOAD_UNKNOWN"}]}`)
		return true
	})
	s.Recipe.Env = nil
	b.publish(t, b.remote, s, b.build(t, s))
	same(t, "contents", contents(t, reg.pull(t, reg.host+"/shop/composition-edge:t")), files{"composition/a/index.js": "1"})
}

func TestMissingRepository(t *testing.T) {
	reg := newRegistry(t)
	reg.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"errors":[{"code":"NAME_UNKNOWN","message":"The repository does not exist"}]}`)
		return true
	})
	b := newBench(t, t.TempDir())
	s := step(t, reg.host+"/shop/composition-edge", "t", nil)
	if _, err := b.remote.Has(t.Context(), s.Reference); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Has: got %v, want ErrNotFound", err)
	}
	err := b.remote.Prepare(t.Context(), s)
	var missing *images.NoRepositoryError
	if !errors.As(err, &missing) || !errors.Is(err, orchestrator.ErrNoRepository) || missing.Repository != "shop/composition-edge" || missing.Hint() == "" {
		t.Errorf("Prepare: got %v, want that the repository is missing", err)
	}
	ecr := &images.NoRepositoryError{Host: "1234.dkr.ecr.eu-west-1.amazonaws.com", Repository: "shop/x"}
	same(t, "hint", ecr.Hint(), "create it: aws ecr create-repository --region eu-west-1 --repository-name shop/x")
}

// A registry whose tags cannot be moved is right to refuse one that somebody has
// set meanwhile.
func TestImmutableTag(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	repository := reg.host + "/shop/composition-edge"
	one := step(t, repository, "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
	two := step(t, repository, "t", map[string]string{"a": files{"index.js": "2"}.write(t, t.TempDir())})
	other := newBench(t, t.TempDir())
	image := other.build(t, two)
	if _, err := other.remote.Has(t.Context(), two.Reference); !errors.Is(err, cache.ErrNotFound) {
		t.Fatal(err)
	}
	first := b.publish(t, b.remote, one, b.build(t, one))
	reg.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, "/manifests/t") {
			return false
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"errors":[{"code":"TAG_INVALID","message":"immutable"}]}`)
		return true
	})
	got, err := other.remote.Publish(t.Context(), two, image)
	if err != nil || got != first {
		t.Errorf("Publish: got %s, %v, want the digest that stands: %s", got, err, first)
	}
}

// An index of which an image is gone is gone, and comes back under its tag.
func TestChildThatIsGone(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	s := step(t, reg.host+"/shop/composition-edge", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
	s.Recipe.Platforms = []string{"linux/amd64", "linux/arm64"}
	image := b.build(t, s)
	ref := s.Reference
	ref.Digest = b.publish(t, b.remote, s, image)
	for name, remote := range map[string]*images.Remote{"known": newRun(b), "unknown": newBench(t, t.TempDir()).remote} {
		if err := remote.Verify(t.Context(), ref); err != nil {
			t.Errorf("Verify, the index is %s: %v", name, err)
		}
	}

	children := manifestsOf(t, b, ref.Digest)
	deleteManifest(t, reg, "shop/composition-edge", children[1])
	for name, remote := range map[string]*images.Remote{"known": newRun(b), "unknown": newBench(t, t.TempDir()).remote} {
		if err := remote.Verify(t.Context(), ref); !errors.Is(err, cache.ErrNotFound) {
			t.Errorf("Verify without a child, the index is %s: got %v, want ErrNotFound", name, err)
		}
	}
	again := newRun(b)
	if _, err := again.Has(t.Context(), s.Reference); err != nil {
		t.Fatal(err)
	}
	if err := again.Verify(t.Context(), ref); !errors.Is(err, cache.ErrNotFound) {
		t.Fatal(err)
	}
	if digest, err := again.Publish(t.Context(), s, image); err != nil || digest != ref.Digest {
		t.Errorf("Publish: got %s, %v", digest, err)
	}
	if err := newRun(b).Verify(t.Context(), ref); err != nil {
		t.Errorf("Verify after it was published again: %v", err)
	}
}

// A registry that does not say whether a child is there has not said that it is gone.
func TestVerifyTellsGoneFromUnknown(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	s := step(t, reg.host+"/shop/composition-edge", "t", nil)
	s.Recipe.Platforms = []string{"linux/amd64", "linux/arm64"}
	ref := s.Reference
	ref.Digest = b.publish(t, b.remote, s, b.build(t, s))
	reg.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	if err := newRun(b).Verify(t.Context(), ref); err == nil || errors.Is(err, cache.ErrNotFound) || !strings.Contains(err.Error(), ref.Repository) {
		t.Errorf("Verify: got %v, want an error that names the image and is not ErrNotFound", err)
	}
}

// newRun is a client that knows nothing of the registry, with the same cache.
func newRun(b *bench) *images.Remote {
	return &images.Remote{Client: &images.Client{Keychain: anonymous{}, Backoff: 1}, Blobs: b.blobs}
}

func manifestsOf(t *testing.T, b *bench, digest string) []string {
	t.Helper()
	var index struct {
		Manifests []struct{ Digest string }
	}
	decode(t, b, digest, &index)
	var all []string
	for _, one := range index.Manifests {
		all = append(all, one.Digest)
	}
	return all
}

func deleteManifest(t *testing.T, reg *registry, repository, digest string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, "http://"+reg.host+"/v2/"+repository+"/manifests/"+digest, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		t.Fatalf("delete: %s", resp.Status)
	}
}
