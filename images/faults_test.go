package images_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"
	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/internal/faultproxy"
	"toa.io/toa/orchestrator"
)

// faults is what a registry, or the way to it, does to a request.
var faults = map[string]faultproxy.Fault{
	"EOF":      faultproxy.EOF,
	"lost":     faultproxy.Lost,
	"reset":    faultproxy.Reset,
	"500":      faultproxy.Status(500, ""),
	"502":      faultproxy.Status(502, "<html>bad gateway</html>"),
	"503":      faultproxy.Status(503, "", "Retry-After", "0"),
	"504":      faultproxy.Status(504, ""),
	"429":      faultproxy.Status(429, `{"errors":[{"code":"TOOMANYREQUESTS","message":"retry-after: 5ms, allowed: 2000/minute"}]}`),
	"403limit": faultproxy.Status(403, `{"message":"You have exceeded a secondary rate limit."}`, "Retry-After", "0"),
	"401":      faultproxy.Expired,
	"stall":    faultproxy.Stall,
	"slow":     faultproxy.Slow(100 * time.Millisecond),
	"digest":   faultproxy.WrongDigest,
	"cut":      faultproxy.Cut(1000),
}

// kinds is what pushing sends. There are no pings and no PATCH: what a registry
// asks for is read off its first answer, and blobs go up in one piece.
var kinds = []faultproxy.Kind{
	faultproxy.Token, faultproxy.HeadManifest, faultproxy.HeadBlob, faultproxy.Post, faultproxy.Mount,
	faultproxy.PutBlob, faultproxy.PutManifest, faultproxy.GetManifest,
}

// stage is a real registry behind a proxy, and what is pushed there: an index of
// five platforms, of which each has a layer of a base and they share one.
type stage struct {
	proxy *faultproxy.Proxy
	// direct is the same registry, with no proxy before it.
	direct http.Handler
	blobs  *cache.Blobs
	// mounted stands on a base in the same registry, foreign on one elsewhere.
	mounted, foreign scene
}

var login = &authn.Basic{Username: user, Password: password}

// keychain logs in everywhere.
type keychain struct{}

func (keychain) Resolve(authn.Resource) (authn.Authenticator, error) { return login, nil }

// newStage starts a proxy before a registry, which gets to know its address.
func newStage(t *testing.T, start func(host string) (front, direct http.Handler)) *stage {
	t.Helper()
	var front http.Handler
	s := &stage{proxy: faultproxy.Start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { front.ServeHTTP(w, r) }))}
	t.Cleanup(s.proxy.Close)
	front, s.direct = start(s.proxy.Host)

	base := platforms(t)
	other := newRegistry(t)
	pin := pushIndex(t, other.host+"/base:1", base)
	pushIndex(t, s.proxy.Host+"/base:1", base)
	dir := map[string]string{"a": files{"index.js": sourceText(1)}.write(t, t.TempDir())}
	b := newBench(t, t.TempDir())
	b.client.Keychain = keychain{}
	s.blobs = b.blobs
	build := func(host string) *images.Image {
		one := step(t, host+"/shop/x", "t", dir)
		one.Recipe.Platforms = []string{"linux/amd64", "linux/arm64", "linux/386", "linux/ppc64le", "linux/s390x"}
		one.Recipe.Base, one.Recipe.Digests = host+"/base:1", []string{pin, pin, pin, pin, pin}
		return b.build(t, one)
	}
	s.mounted, s.foreign = scene{image: build(s.proxy.Host)}, scene{image: build(other.host)}
	s.mounted.rehearse(t, s, "mounted")
	s.foreign.rehearse(t, s, "foreign")
	return s
}

// scene is an image, and what pushing it takes where nothing goes wrong.
type scene struct {
	image *images.Image
	calls map[faultproxy.Kind]int
	bytes int64
}

func (one *scene) rehearse(t *testing.T, s *stage, name string) {
	t.Helper()
	c := cell{stage: s, scene: one, repository: "rehearsal/" + name, stall: time.Minute}
	if err := errors.Join(c.push(t), c.verify(t)); err != nil {
		t.Fatalf("without a fault: %v", err)
	}
	one.bytes, one.calls = c.sent(), map[faultproxy.Kind]int{}
	for _, r := range s.proxy.Requests(c.repository) {
		one.calls[r.Kind]++
	}
}

func platforms(t *testing.T) v1.ImageIndex {
	t.Helper()
	var index v1.ImageIndex = empty.Index
	for _, arch := range []string{"amd64", "arm64", "386", "ppc64le", "s390x"} {
		one, err := random.Image(2000, 1)
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        forPlatform(t, one, "linux", arch),
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return index
}

func pushIndex(t *testing.T, reference string, index v1.ImageIndex) string {
	t.Helper()
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index, remote.WithAuth(login)); err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

// cell is one push that something happens to.
type cell struct {
	*stage
	*scene
	repository string
	nth        int // the call that is struck, or 0 for all
	stall      time.Duration
}

func (c cell) step() orchestrator.Step {
	return orchestrator.Step{ID: "composition/edge", Reference: orchestrator.Reference{Repository: c.proxy.Host + "/" + c.repository, Tag: "t"}}
}

// remote is that of a new run.
func (c cell) remote(blobs *cache.Blobs) *images.Remote {
	return &images.Remote{Blobs: blobs, Client: &images.Client{
		Keychain: keychain{}, Backoff: time.Millisecond, Stall: c.stall, Patience: 300 * time.Millisecond,
	}}
}

// push is what a run does: look up, prepare, publish.
func (c cell) push(t *testing.T) error {
	t.Helper()
	to, s := c.remote(c.blobs), c.step()
	if _, err := to.Has(t.Context(), s.Reference); err != nil && !errors.Is(err, cache.ErrNotFound) {
		return err
	}
	if err := to.Prepare(t.Context(), s); err != nil {
		return err
	}
	digest, err := to.Publish(t.Context(), s, c.image)
	if err != nil {
		return err
	}
	if digest != c.image.Digest() {
		t.Errorf("Publish: got %s, want %s", digest, c.image.Digest())
	}
	c.complete(t)
	return nil
}

// verify is what another run does that knows nothing.
func (c cell) verify(t *testing.T) error {
	t.Helper()
	other, err := cache.OpenBlobs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ref := c.step().Reference
	ref.Digest = c.image.Digest()
	err = c.remote(other).Verify(t.Context(), ref)
	if errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Verify says that the image is gone: %v", err)
	}
	if err != nil && !errors.Is(err, cache.ErrDamaged) {
		return fmt.Errorf("verify: %w", err)
	}
	return nil
}

// get reads from the registry itself, by other code than what is tested.
func (c cell) get(t *testing.T, method, path string) (status int, body []byte) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, "http://registry/v2/"+c.repository+"/"+path, nil)
	request.SetBasicAuth(user, password) // where it takes one
	request.Header["Accept"] = []string{string(types.OCIImageIndex), string(types.OCIManifestSchema1)}
	answer := httptest.NewRecorder()
	c.direct.ServeHTTP(answer, request)
	return answer.Code, answer.Body.Bytes()
}

// there tells whether the tag is in the registry.
func (c cell) there(t *testing.T) bool {
	t.Helper()
	status, _ := c.get(t, http.MethodHead, "manifests/t")
	return status == http.StatusOK
}

// complete wants the tag to be in the registry with all that it stands for.
func (c cell) complete(t *testing.T) {
	t.Helper()
	var index v1.IndexManifest
	c.manifest(t, "t", c.image.Digest(), &index)
	for _, one := range index.Manifests {
		var m v1.Manifest
		c.manifest(t, one.Digest.String(), one.Digest.String(), &m)
		for _, blob := range append(m.Layers, m.Config) {
			if status, _ := c.get(t, http.MethodHead, "blobs/"+blob.Digest.String()); status != http.StatusOK {
				t.Errorf("blob %s of %s: status %d", blob.Digest, one.Platform, status)
			}
		}
	}
	if len(index.Manifests) != 5 {
		t.Errorf("the tag names %d images, want 5", len(index.Manifests))
	}
}

func (c cell) manifest(t *testing.T, target, digest string, into any) {
	t.Helper()
	status, raw := c.get(t, http.MethodGet, "manifests/"+target)
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(raw)); status != http.StatusOK || got != digest {
		t.Errorf("manifest %s: status %d, %s, want %s", target, status, got, digest)
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Error(err)
	}
}

// sent is how many bytes of bodies went to the repository.
func (c cell) sent() (bytes int64) {
	for _, r := range c.proxy.Requests(c.repository) {
		bytes += r.Bytes
	}
	return bytes
}

// matrix strikes each kind of request with each fault at each of the calls that
// are stated; 0 means for ever. Most of the time is spent on waiting, so that many
// go on at once.
func matrix(t *testing.T, s *stage, faults map[string]faultproxy.Fault, calls []int, kinds ...faultproxy.Kind) {
	var group errgroup.Group
	group.SetLimit(24)
	for _, kind := range kinds {
		for _, fault := range slices.Sorted(maps.Keys(faults)) {
			if kind == faultproxy.Token && fault == "401" {
				continue // it is how a token server says that the password is wrong
			}
			for _, nth := range calls {
				c := s.cell(kind, fault, nth)
				if nth > c.calls[kind] {
					continue // a push does not ask so often
				}
				group.Go(func() error {
					t.Run(c.repository, func(t *testing.T) { c.strike(t, kind, faults[fault]) })
					return nil
				})
			}
		}
	}
	_ = group.Wait()
}

func (c cell) strike(t *testing.T, kind faultproxy.Kind, fault faultproxy.Fault) {
	rule := faultproxy.Rule{Repository: c.repository, Kind: kind, From: max(c.nth, 1), Count: min(c.nth, 1), Fault: fault}
	if c.nth == 0 {
		c.always(t, rule)
	} else {
		c.once(t, rule)
	}
}

func (s *stage) cell(kind faultproxy.Kind, fault string, nth int) cell {
	c := cell{stage: s, scene: &s.mounted, nth: nth, stall: time.Minute}
	c.repository = strings.ToLower(strings.ReplaceAll(fmt.Sprintf("%s/%s/%d", kind, fault, nth), " ", "-"))
	if kind == faultproxy.HeadBlob {
		c.scene = &s.foreign
	}
	if fault == "stall" {
		c.stall = 5 * time.Second // a busy machine takes seconds for an answer that nothing holds up
	}
	return c
}

// once wants the push to get over the fault, at little cost.
func (c cell) once(t *testing.T, rule faultproxy.Rule) {
	c.proxy.Inject(rule)
	if err := c.push(t); err != nil {
		t.Errorf("push: %v", err)
	}
	if c.proxy.Struck(c.repository) == 0 {
		if err := c.verify(t); err != nil {
			t.Error(err)
		}
	}
	if c.sent() > c.bytes*3/2 {
		t.Errorf("%d bytes were sent, want %d at most", c.sent(), c.bytes*3/2)
	}
	if c.proxy.Struck(c.repository) != 1 {
		t.Error("the fault did not strike")
	}
}

// always wants the push to land or to fail with nothing that misleads, and
// the next one to land.
func (c cell) always(t *testing.T, rule faultproxy.Rule) {
	c.proxy.Inject(rule)
	if c.stall < time.Minute {
		c.stall = 300 * time.Millisecond // for each of its tries
	}
	err := c.push(t)
	if err != nil && (!strings.Contains(err.Error(), c.repository) || strings.Contains(err.Error(), password)) {
		t.Errorf("push: %q does not name the reference, or tells a secret", err)
	}
	if err != nil && c.there(t) {
		c.complete(t)
	}
	c.proxy.Heal(c.repository)
	c.stall = time.Minute
	if err := c.push(t); err != nil {
		t.Errorf("push after the fault: %v", err)
	}
}

// google/go-containerregistry#618, containers/common#2299, distribution/distribution#785
func TestFaultsOfRegistryWithTokens(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(host string) (front, direct http.Handler) {
		tokens, kept := newTokenServer(t), keptIn(inmemory.New())
		mux := http.NewServeMux()
		mux.Handle("/token", tokens)
		mux.Handle("/", newRegistry(t, kept, tokens.configure("http://"+host+"/token")))
		return mux, newRegistry(t, kept)
	})
	matrix(t, s, faults, []int{1, 2, 5, 0}, kinds...)
}
