package images_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/storage/cache/memory"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

// onDisk makes a registry keep blobs in files, and in memory which there are.
func onDisk(dir string) func(*configuration.Configuration) {
	return func(c *configuration.Configuration) {
		delete(c.Storage, "inmemory")
		c.Storage["filesystem"] = configuration.Parameters{"rootdirectory": dir}
		c.Storage["cache"] = configuration.Parameters{"blobdescriptor": "inmemory"}
	}
}

func blobFile(dir, digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	return filepath.Join(dir, "docker", "registry", "v2", "blobs", "sha256", hex[:2], hex, "data")
}

// A registry whose garbage collection has taken a blob goes on saying that it is
// there. Who reads it finds out; then it is sent again, and all is well.
// distribution/distribution#3743, distribution/distribution#4525
func TestBlobThatARegistryOnlySaysItHas(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"gone":  func(t *testing.T, path string) { must(t, os.Remove(path)) },
		"short": func(t *testing.T, path string) { must(t, os.Truncate(path, 10)) },
		"other bytes": func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			must(t, err)
			data[len(data)/2]++
			must(t, os.WriteFile(path, data, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := t.TempDir()
			reg := newRegistry(t, onDisk(store))
			b := newBench(t, t.TempDir())
			index := cache.NewIndex(cache.OpenDB(filepath.Join(t.TempDir(), "index.db"), nil))
			repository := reg.host + "/shop/composition-edge"
			s := step(t, repository, "t", map[string]string{"a": files{"index.js": sourceText(1)}.write(t, t.TempDir())})
			image := b.build(t, s)
			digest := b.publish(t, b.remote, s, image)
			layer := manifestOf(t, b, digest).Layers[0].Digest.String()
			spoil(t, blobFile(store, layer))
			head, err := http.Head("http://" + reg.host + "/v2/shop/composition-edge/blobs/" + layer)
			must(t, err)
			_ = head.Body.Close()
			same(t, "what the registry says", head.StatusCode, http.StatusOK)

			inspect := func() []string {
				t.Helper()
				lost, err := (&images.Inspector{Client: b.client}).Inspect(t.Context(), repository, digest)
				must(t, err)
				return lost
			}
			same(t, "lost", inspect(), []string{layer})
			must(t, index.Lose(reg.host, repository, layer))
			next := newRun(b)
			next.Losses = index
			if _, err := next.Has(t.Context(), s.Reference); !errors.Is(err, cache.ErrNotFound) {
				t.Errorf("Has: %v, want that the image is not there", err)
			}
			whole := orchestrator.Reference{Repository: repository, Tag: "t", Digest: digest}
			if err := next.Verify(t.Context(), whole); !errors.Is(err, cache.ErrNotFound) {
				t.Errorf("Verify: %v, want that the image is not there", err)
			}
			reg.requests()
			again, err := next.Publish(t.Context(), s, image)
			if name != "gone" {
				var kept *images.StillLostError // this registry does not replace a file
				if !errors.As(err, &kept) || kept.Blob != layer || kept.Hint() == "" {
					t.Errorf("Publish: %v, want that the blob is still damaged", err)
				}
				same(t, "noted afterwards", index.Lost(reg.host, repository), []string{layer})
				return
			}
			must(t, err)
			same(t, "digest", again, digest)
			same(t, "questions", slices.Contains(reg.requests(), "HEAD blob"), false)
			same(t, "lost afterwards", inspect(), nil)
			same(t, "noted afterwards", index.Lost(reg.host, repository), nil)
			must(t, next.Verify(t.Context(), whole))
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tally counts the bytes of answers that are read.
type tally struct{ sentBytes }

func (c *tally) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := patient.RoundTrip(req)
	if err == nil {
		resp.Body = tallied{resp.Body, &c.sentBytes}
	}
	return resp, err
}

// What many images share is read once; a registry that cannot be asked has lost
// nothing.
func TestInspectorReadsOnce(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	random := make([]byte, 2<<20)
	fill(random)
	dirs := map[string]string{"a": files{"large": string(random)}.write(t, t.TempDir())}
	look := &images.Inspector{Client: b.client}
	read := &tally{}
	b.client.Transport = read
	for _, name := range []string{"one", "two"} {
		s := step(t, reg.host+"/shop/"+name, "t", dirs)
		digest := b.publish(t, b.remote, s, b.build(t, s))
		lost, err := look.Inspect(t.Context(), s.Reference.Repository, digest)
		must(t, err)
		same(t, name, len(lost), 0)
	}
	if read.Load() > 3<<20 {
		t.Errorf("%d bytes were read of a layer of %d", read.Load(), len(random))
	}
	reg.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	lost, err := look.Inspect(t.Context(), reg.host+"/shop/one", "sha256:"+strings.Repeat("0", 64))
	var answer *images.RegistryError
	if !errors.As(err, &answer) || lost != nil {
		t.Errorf("Inspect: %q, %v, want no word on what is there", lost, err)
	}
}

// What an Inspector is going to read is known before, and what images share is
// read once.
func TestInspectorReadsWhatWasForeseen(t *testing.T) {
	reg := newRegistry(t)
	b := newBench(t, t.TempDir())
	shared := files{"index.js": sourceText(1)}.write(t, t.TempDir())
	sizes := map[string]int64{}
	digests := map[string]string{} // by repository
	for _, name := range []string{"one", "two"} {
		repository := reg.host + "/shop/composition-" + name
		s := step(t, repository, "t", map[string]string{"a": shared, "b": files{"index.js": name}.write(t, t.TempDir())})
		digests[repository] = b.publish(t, b.remote, s, b.build(t, s))
		m := manifestOf(t, b, digests[repository])
		for _, blob := range append(m.Layers, m.Config) {
			sizes[blob.Digest.String()] = blob.Size
		}
	}
	want := int64(0)
	for _, size := range sizes {
		want += size
	}
	look := &images.Inspector{Client: b.client}
	var all []string
	for repository, digest := range digests {
		all = append(all, digest)
		if lost, err := look.Inspect(t.Context(), repository, digest); err != nil || len(lost) > 0 {
			t.Errorf("Inspect: %q, %v", lost, err)
		}
	}
	sum, unknown := images.Weight(b.blobs, append(all, imageDigest(1))...)
	same(t, "foreseen", sum, want)
	same(t, "not foreseen, for it is not known", unknown, 1)
	same(t, "read", look.Bytes(), want)
}
