package images_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sirupsen/logrus"
	"toa.io/toa/cache"
	"toa.io/toa/graph"
	"toa.io/toa/images"
	"toa.io/toa/internal/treetest"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

func TestMain(m *testing.M) {
	logrus.SetLevel(logrus.PanicLevel) // the registry's
	// npm gets to know nothing of this machine's settings.
	home, err := os.MkdirTemp("", "toa-home-")
	if err == nil {
		err = os.Setenv("HOME", home)
	}
	if err != nil {
		log.Fatal(err)
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

// registry is a real one in this process, with an access log.
type registry struct {
	host string
	app  http.Handler

	mu  sync.Mutex // guards log and answer
	log []string
	// answer may answer a request itself; it returns false to pass it on.
	answer func(w http.ResponseWriter, r *http.Request) bool
}

func newRegistry(t testing.TB, settings ...func(*configuration.Configuration)) *registry {
	t.Helper()
	config := &configuration.Configuration{
		Storage: configuration.Storage{
			"inmemory":    configuration.Parameters{},
			"delete":      configuration.Parameters{"enabled": true},
			"maintenance": configuration.Parameters{"uploadpurging": map[any]any{"enabled": false}},
		},
	}
	config.Log.AccessLog.Disabled = true
	config.HTTP.Secret = "test"
	for _, set := range settings {
		set(config)
	}
	reg := &registry{app: handlers.NewApp(t.Context(), config)}
	server := httptest.NewServer(reg)
	t.Cleanup(server.Close)
	reg.host = strings.TrimPrefix(server.URL, "http://")
	return reg
}

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	line := req.Method + " " + req.URL.Path
	if from := req.URL.Query().Get("from"); from != "" {
		line += " from " + from
	}
	r.mu.Lock()
	r.log = append(r.log, line)
	answer := r.answer
	r.mu.Unlock()
	if answer == nil || !answer(w, req) {
		r.app.ServeHTTP(w, req)
	}
}

func (r *registry) intercept(answer func(w http.ResponseWriter, r *http.Request) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// requests returns the log since it was last asked for: methods with what they
// are about, without names and digests.
func (r *registry) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var kinds []string
	for _, line := range r.log {
		method, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.Contains(rest, " from "):
			kinds = append(kinds, method+" mount")
		case strings.Contains(rest, "/blobs/uploads/"):
			kinds = append(kinds, method+" upload")
		case strings.Contains(rest, "/blobs/"):
			kinds = append(kinds, method+" blob")
		case strings.Contains(rest, "/manifests/"):
			kinds = append(kinds, method+" manifest")
		default:
			kinds = append(kinds, line)
		}
	}
	r.log = nil
	return kinds
}

func (r *registry) pull(t *testing.T, reference string) v1.Image {
	t.Helper()
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(ref)
	if err != nil {
		t.Fatalf("pull %s: %v", reference, err)
	}
	r.requests()
	return image
}

// push publishes an image made elsewhere, such as a base.
func (r *registry) push(t *testing.T, reference string, image v1.Image) string {
	t.Helper()
	ref, err := name.ParseReference(r.host + "/" + reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image); err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	r.requests()
	return digest.String()
}

// anonymous keeps the tests from the docker config of who runs them.
type anonymous struct{}

func (anonymous) Resolve(authn.Resource) (authn.Authenticator, error) { return authn.Anonymous, nil }

// bench is what a run of toa has: one cache, one client, a builder.
type bench struct {
	blobs  *cache.Blobs
	client *images.Client
	native *images.Native
	remote *images.Remote
}

func newBench(t testing.TB, cacheDir string) *bench {
	t.Helper()
	blobs, err := cache.OpenBlobs(cacheDir)
	if err != nil {
		t.Fatal(err)
	}
	client := &images.Client{Keychain: anonymous{}, Backoff: time.Millisecond}
	return &bench{
		blobs:  blobs,
		client: client,
		native: &images.Native{Blobs: blobs, Client: client},
		remote: &images.Remote{Blobs: blobs, Client: client},
	}
}

func (b *bench) build(t testing.TB, step orchestrator.Step, deps ...orchestrator.Result) *images.Image {
	t.Helper()
	artifact, err := b.native.Build(t.Context(), step, deps)
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	return artifact.(*images.Image)
}

// publish asks and publishes as the orchestrator does.
func (b *bench) publish(t testing.TB, to orchestrator.Registry, step orchestrator.Step, image *images.Image) string {
	t.Helper()
	if _, err := to.Has(t.Context(), step.Reference); err == nil {
		t.Fatalf("Has(%s): it is there", step.Reference)
	}
	digest, err := to.Publish(t.Context(), step, image)
	if err != nil {
		t.Fatalf("Publish: %v", err)
	}
	return digest
}

type files treetest.Files

func (f files) write(t testing.TB, dir string) string {
	t.Helper()
	return treetest.Files(f).Write(t, dir)
}

var tree = treetest.Tree

// step is a composition of one directory for each label, from scratch.
func step(t testing.TB, repository, tag string, dirs map[string]string) orchestrator.Step {
	t.Helper()
	s := orchestrator.Step{
		ID: "composition/edge",
		Recipe: templates.Recipe{
			Kind: "composition", Base: templates.Scratch, Platforms: []string{"linux/amd64"},
			Env: []string{"NODE_ENV=production"}, Workdir: "/composition", Cmd: "toa compose *",
		},
		Reference: orchestrator.Reference{Repository: repository, Tag: tag},
	}
	labels := make([]string, 0, len(dirs))
	for label := range dirs {
		labels = append(labels, label)
	}
	slices.Sort(labels)
	for _, label := range labels {
		s.Recipe.Copies = append(s.Recipe.Copies, templates.Copy{Label: label})
		s.Sources = append(s.Sources, orchestrator.Source{Label: label, Component: label, Dir: dirs[label], Tree: tree(t, dirs[label])})
	}
	return s
}

// contents lists the regular files and links of an image, layers in order.
func contents(t *testing.T, image v1.Image) files {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	all := files{}
	for _, layer := range layers {
		body, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(all, regularFiles(untar(t, body)))
	}
	return all
}

// regularFiles are the files and links of an archive.
func regularFiles(entries []entry) files {
	all := files{}
	for _, entry := range entries {
		switch entry.Typeflag {
		case tar.TypeSymlink:
			all[entry.Name] = "->" + entry.Linkname
		case tar.TypeReg:
			all[entry.Name] = entry.content
			if entry.Mode == 0o755 {
				all[entry.Name] = "x:" + entry.content
			}
		}
	}
	return all
}

type entry struct {
	*tar.Header
	content string
}

func untar(t *testing.T, r io.Reader) []entry {
	t.Helper()
	var all []entry
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry{header, string(data)})
	}
}

func gunzip(t *testing.T, path string) []entry {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	return untar(t, plain)
}

// manifestOf reads a kept manifest or index.
func manifestOf(t *testing.T, b *bench, digest string) v1.Manifest {
	t.Helper()
	var m v1.Manifest
	decode(t, b, digest, &m)
	return m
}

func decode(t *testing.T, b *bench, digest string, into any) {
	t.Helper()
	raw, err := b.blobs.Bytes(digest)
	if err != nil {
		t.Fatalf("Bytes(%s): %v", digest, err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

func configOf(t *testing.T, b *bench, digest string) v1.ConfigFile {
	t.Helper()
	var file v1.ConfigFile
	decode(t, b, manifestOf(t, b, digest).Config.Digest.String(), &file)
	return file
}

func result(id graph.ID, ref orchestrator.Reference, digest string, artifact orchestrator.Artifact) orchestrator.Result {
	ref.Digest = digest
	return orchestrator.Result{ID: id, Reference: ref, Artifact: artifact}
}

// hinted is what errors that a user can fix have.
type hinted interface{ Hint() string }

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	g, w := fmt.Sprint(got), fmt.Sprint(want)
	if g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}
