package images_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

func TestPublishSendsEachThingOnce(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	dir := files{"a.js": "1"}.write(t, t.TempDir())
	s := step(t, reg.host+"/shop/composition-edge", "one", map[string]string{"store-orders": dir})

	image := b.build(t, s)
	digest := b.publish(t, b.remote, s, image)
	requests := reg.requests()
	slices.Sort(requests) // the two uploads are parallel
	same(t, "requests", requests, []string{
		"HEAD manifest", "POST upload", "POST upload", "PUT manifest", "PUT upload", "PUT upload",
	})
	if digest != image.Digest() {
		t.Errorf("Publish: got %s, want %s", digest, image.Digest())
	}
	if got, err := b.remote.Has(t.Context(), s.Reference); got != digest || err != nil {
		t.Errorf("Has: got %q, %v, want %q", got, err, digest)
	}
	same(t, "traffic", b.remote.Traffic().Requests, int64(7))
	pulled := reg.pull(t, reg.host+"/shop/composition-edge:one")
	same(t, "contents", contents(t, pulled), files{"composition/store-orders/a.js": "1"})
}

func TestChangedLayerCostsSixRequests(t *testing.T) {
	reg := newRegistry(t)
	base, err := random.Image(2000, 3)
	if err != nil {
		t.Fatal(err)
	}
	pin := reg.push(t, "base:1", amd64(t, base))
	dirs := map[string]string{}
	for _, label := range []string{"a", "b", "c"} {
		dirs[label] = files{"index.js": label}.write(t, t.TempDir())
	}
	cacheDir := t.TempDir()
	based := func(tag string) orchestrator.Step {
		s := step(t, reg.host+"/shop/composition-edge", tag, dirs)
		s.Recipe.Base, s.Recipe.Digests = reg.host+"/base:1", []string{pin}
		return s
	}
	first := newBench(t, cacheDir)
	s := based("one")
	previous := first.publish(t, first.remote, s, first.build(t, s))
	reg.requests()

	files{"index.js": "changed"}.write(t, dirs["b"])
	second := newBench(t, cacheDir)
	s = based("two")
	s.Previous = previous
	digest := second.publish(t, second.remote, s, second.build(t, s))
	requests := reg.requests()
	if len(requests) != 6 {
		t.Errorf("%d requests: %v, want 6", len(requests), requests)
	}
	if sent := second.remote.Traffic().Bytes; sent == 0 || sent > 4000 {
		t.Errorf("%d bytes were sent, want those of one small layer and a config", sent)
	}
	pulled := reg.pull(t, reg.host+"/shop/composition-edge@"+digest)
	if got := contents(t, pulled)["composition/b/index.js"]; got != "changed" {
		t.Errorf("pulled file: got %q", got)
	}
}

func TestPreviousThatWasCollectedIsUploadedAgain(t *testing.T) {
	reg := newRegistry(t)
	cacheDir := t.TempDir()
	dirs := map[string]string{
		"a": files{"index.js": "a"}.write(t, t.TempDir()),
		"b": files{"index.js": "b"}.write(t, t.TempDir()),
	}
	s := step(t, reg.host+"/shop/composition-edge", "one", dirs)
	first := newBench(t, cacheDir)
	previous := first.build(t, s).Digest() // kept, but the registry never saw it

	files{"index.js": "changed"}.write(t, dirs["b"])
	s = step(t, reg.host+"/shop/composition-edge", "two", dirs)
	s.Previous = previous
	second := newBench(t, cacheDir)
	second.publish(t, second.remote, s, second.build(t, s))
	same(t, "contents", contents(t, reg.pull(t, reg.host+"/shop/composition-edge:two")),
		files{"composition/a/index.js": "a", "composition/b/index.js": "changed"})
}

func TestSharedLayerIsMountedFromSibling(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	dir := map[string]string{"a": files{"index.js": "a"}.write(t, t.TempDir())}
	one := step(t, reg.host+"/shop/composition-one", "t", dir)
	two := step(t, reg.host+"/shop/composition-two", "t", dir)
	b.publish(t, b.remote, one, b.build(t, one))
	reg.requests()
	b.publish(t, b.remote, two, b.build(t, two))
	same(t, "requests", reg.requests(), []string{"HEAD manifest", "POST mount", "POST mount", "PUT manifest"})
}

// Registries refuse mounts in many ways, or open an upload instead: then the blob
// is sent. goharbor/harbor#17097, moby/buildkit#2454, osscontainertools/kaniko#1013
func TestRefusedMountIsAnUpload(t *testing.T) {
	for status, most := range map[int]int{401: 2, 403: 2, 404: 2, 500: 4, 202: 2} { // two blobs may begin before the first answer; 500 may pass
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			reg := newRegistry(t)
			b := newBench(t, t.TempDir())
			dir := map[string]string{"a": files{"index.js": "a"}.write(t, t.TempDir())}
			one := step(t, reg.host+"/shop/composition-one", "t", dir)
			two := step(t, reg.host+"/shop/composition-two", "t", dir)
			b.publish(t, b.remote, one, b.build(t, one))
			mounts := 0
			reg.intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Query().Get("mount") == "" {
					return false
				}
				reg.mu.Lock()
				mounts++
				reg.mu.Unlock()
				if status == http.StatusAccepted {
					r.URL.RawQuery = ""
					return false
				}
				w.WriteHeader(status)
				return true
			})
			b.publish(t, b.remote, two, b.build(t, two))
			if mounts < 1 || mounts > most {
				t.Errorf("%d mounts were tried, want 1 to %d", mounts, most)
			}
			same(t, "contents", contents(t, reg.pull(t, reg.host+"/shop/composition-two:t")), files{"composition/a/index.js": "a"})
		})
	}
}

func TestTakenTagIsKept(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	one := step(t, reg.host+"/shop/composition-edge", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
	two := step(t, reg.host+"/shop/composition-edge", "t", map[string]string{"a": files{"index.js": "2"}.write(t, t.TempDir())})
	first := b.publish(t, b.remote, one, b.build(t, one))
	reg.requests()

	other := newBench(t, t.TempDir()) // Has was not called in this run
	got, err := other.remote.Publish(t.Context(), two, other.build(t, two))
	if err != nil || got != first {
		t.Errorf("Publish on a taken tag: got %q, %v, want the first digest %q", got, err, first)
	}
	same(t, "requests", reg.requests(), []string{"HEAD manifest"})
}

// docker/buildx#663
func TestAnIndexIsTaggedLast(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	s := step(t, reg.host+"/shop/composition-edge", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
	s.Recipe.Platforms = []string{"linux/amd64", "linux/arm/v7"}
	image := b.build(t, s)
	digest := b.publish(t, b.remote, s, image)
	reg.mu.Lock()
	last := reg.log[len(reg.log)-1]
	reg.mu.Unlock()
	same(t, "last request", last, "PUT /v2/shop/composition-edge/manifests/t")
	same(t, "requests: the layer once, two configs, two manifests, the index", len(reg.requests()), 1+2+4+3)
	if digest != image.Digest() {
		t.Errorf("got %s, want %s", digest, image.Digest())
	}
}

// publishAtOnce publishes images of one layer that differ in their configs.
func (b *bench) publishAtOnce(t *testing.T, host string, n int) {
	t.Helper()
	dirs := map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())}
	var wait sync.WaitGroup
	for i := range n {
		s := step(t, host+"/shop/composition-edge", fmt.Sprint("t", i), dirs)
		s.Recipe.Env = []string{fmt.Sprint("N=", i)}
		wait.Go(func() {
			image, err := b.native.Build(t.Context(), s, nil)
			if err == nil {
				_, err = b.remote.Publish(t.Context(), s, image)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

func TestParallelImagesShareUploads(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	b.publishAtOnce(t, reg.host, 8)
	uploads := 0
	for _, r := range reg.requests() {
		if r == "PUT upload" {
			uploads++
		}
	}
	same(t, "uploads: one layer, eight configs", uploads, 9)
}

func TestHasTellsAbsentFromUnknown(t *testing.T) {
	for _, row := range []struct {
		status int
		absent bool
		hint   bool
	}{{404, true, false}, {401, false, true}, {403, false, true}, {500, false, false}, {418, false, false}} {
		reg := newRegistry(t)
		reg.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(row.status)
			_, _ = io.WriteString(w, `{"errors":[{"code":"DENIED","message":"canary-secret"}]}`)
			return true
		})
		_, err := newBench(t, t.TempDir()).remote.Has(t.Context(), orchestrator.Reference{Repository: reg.host + "/shop/x", Tag: "t"})
		if errors.Is(err, cache.ErrNotFound) != row.absent || err == nil {
			t.Errorf("status %d: got %v, absent should be %t", row.status, err, row.absent)
		}
		var hint hinted
		if row.hint && (!errors.As(err, &hint) || hint.Hint() == "") {
			t.Errorf("status %d: %v has no hint", row.status, err)
		}
		if !row.absent && (!strings.Contains(err.Error(), reg.host+"/shop/x:t") || !strings.Contains(err.Error(), fmt.Sprint(row.status))) {
			t.Errorf("status %d: %q does not name reference and status", row.status, err)
		}
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("status %d: %q quotes the body", row.status, err)
		}
	}
}

func TestUnreachableRegistryIsAnError(t *testing.T) {
	_, err := newBench(t, t.TempDir()).remote.Has(t.Context(), orchestrator.Reference{Repository: "127.0.0.1:1/shop/x", Tag: "t"})
	if err == nil || errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Has: got %v, want an error that is not ErrNotFound", err)
	}
}

// Every kind of request fails twice in each way, at any place, and the push
// still lands.
func TestPushSurvivesFaults(t *testing.T) {
	faults := map[string]func(w http.ResponseWriter){
		"500": func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		"502": func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		"503": func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
		"429": func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"EOF": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	}
	for fault, fail := range faults {
		for _, at := range []string{"HEAD /manifests/", "POST /blobs/uploads/", "PUT /blobs/uploads/", "PUT /manifests/"} {
			t.Run(fault+" "+at, func(t *testing.T) {
				reg := newRegistry(t)
				method, path, _ := strings.Cut(at, " ")
				var left atomic.Int32
				left.Store(2)
				reg.intercept(func(w http.ResponseWriter, r *http.Request) bool {
					if r.Method == method && strings.Contains(r.URL.Path, path) && left.Add(-1) >= 0 {
						_, _ = io.Copy(io.Discard, r.Body)
						fail(w)
						return true
					}
					return false
				})
				b := newBench(t, t.TempDir())
				s := step(t, reg.host+"/shop/composition-edge", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
				b.publish(t, b.remote, s, b.build(t, s))
				same(t, "contents", contents(t, reg.pull(t, reg.host+"/shop/composition-edge:t")), files{"composition/a/index.js": "1"})
			})
		}
	}
}

func TestFailingPushGivesUpAndTagsNothing(t *testing.T) {
	reg := newRegistry(t)
	reg.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/blobs/") {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		return false
	})
	b := newBench(t, t.TempDir())
	s := step(t, reg.host+"/shop/composition-edge", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
	_, err := b.remote.Publish(t.Context(), s, b.build(t, s))
	var answer *images.RegistryError
	if !errors.As(err, &answer) || answer.Status != 500 {
		t.Errorf("Publish: got %v, want status 500", err)
	}
	for _, r := range reg.requests() {
		if r == "PUT manifest" {
			t.Error("a manifest was sent")
		}
	}
}

func TestRegistryThatLiesAboutTheManifest(t *testing.T) {
	reg := newRegistry(t)
	reg.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/") {
			w.WriteHeader(http.StatusCreated) // and keeps nothing
			return true
		}
		return false
	})
	b := newBench(t, t.TempDir())
	s := step(t, reg.host+"/shop/composition-edge", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
	if _, err := b.remote.Publish(t.Context(), s, b.build(t, s)); err == nil {
		t.Error("Publish: no error though the registry has nothing")
	}
}

func TestDamagedLayerIsMadeAgain(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	s := step(t, reg.host+"/shop/composition-edge", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
	image := b.build(t, s)
	layer := manifestOf(t, b, image.Digest()).Layers[0]
	path, err := b.blobs.Path(layer.Digest.String())
	if err != nil {
		t.Fatal(err)
	}
	damage(t, path)
	b.publish(t, b.remote, s, image)
	same(t, "contents", contents(t, reg.pull(t, reg.host+"/shop/composition-edge:t")), files{"composition/a/index.js": "1"})
}

// damage flips a bit in the middle of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

const user, password = "founder", "canary-password"

func TestBasicAuthFromDockerConfig(t *testing.T) {
	passwords := filepath.Join(t.TempDir(), "htpasswd")
	if err := os.WriteFile(passwords, htpasswd(t), 0o600); err != nil {
		t.Fatal(err)
	}
	reg := newRegistry(t, func(c *configuration.Configuration) {
		c.Auth = configuration.Auth{"htpasswd": configuration.Parameters{"realm": "test", "path": passwords}}
	})
	s := step(t, reg.host+"/shop/composition-edge", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})

	b := newBench(t, t.TempDir())
	_, err := b.remote.Has(t.Context(), s.Reference)
	var answer *images.RegistryError
	if !errors.As(err, &answer) || answer.Status != http.StatusUnauthorized {
		t.Errorf("Has without credentials: got %v, want 401", err)
	}
	reg.requests()

	dockerConfig(t, reg.host)
	b.client = &images.Client{} // the docker config's keychain
	b.remote = &images.Remote{Blobs: b.blobs, Client: b.client}
	digest := b.publish(t, b.remote, s, b.build(t, s))
	same(t, "requests", len(reg.requests()), 6)
	if got, err := b.remote.Has(t.Context(), s.Reference); err != nil || got != digest {
		t.Errorf("Has: got %q, %v, want %q", got, err, digest)
	}
}
