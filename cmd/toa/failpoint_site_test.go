package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
	"toa.io/toa/workspace"
)

// pointSite is a crashSite whose runs end with a package.
type pointSite struct {
	*crashSite
	kind siteKind
	// holds is the line of unpacked that tells what an image was made of, by the
	// image's tag, for each state that the workspace has had.
	holds map[string]string
	// base is the digest of the base image.
	base string
	// seen are the images that were read, by tag and digest.
	seen map[string]bool
}

// siteKind is what differs between sites.
type siteKind string

const (
	// siteRegistry has images that stand on a base, which has to be pinned, and
	// machines that share an index.
	siteRegistry siteKind = "registry"
	// siteLayout has images that go to a layout on disk.
	siteLayout siteKind = "layout"
	// sitePackages is a layout one of whose components installs a package.
	sitePackages siteKind = "packages"
)

const (
	registryContext = `name: shop
version: 0.1.0
amqp: amqp://broker
resources: null
cache: {shared: registry}
registry: {base: "%[1]s/team", platforms: [linux/amd64], build: {image: "%[1]s/base:1"}}
`
	layoutContext = `name: shop
version: 0.1.0
amqp: amqp://broker
resources: null
registry: {platforms: [linux/amd64], build: {image: scratch}}
`
)

// leftFiles are a package of the workspace, and a component that installs it: npm
// gets it without asking anybody.
var leftFiles = map[string]string{
	"packages/left/package.json": `{"name": "left", "version": "1.0.0"}`,
	"components/a/package.json":  `{"name": "a", "version": "1.0.0", "dependencies": {"left": "file:../../packages/left"}}`,
	"components/a/package-lock.json": `{"name": "a", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
		"": {"name": "a", "version": "1.0.0", "dependencies": {"left": "file:../../packages/left"}},
		"../../packages/left": {"version": "1.0.0"},
		"node_modules/left": {"resolved": "../../packages/left", "link": true}
	}}`,
}

func newPointSite(t *testing.T, kind siteKind) *pointSite {
	t.Helper()
	s := &pointSite{crashSite: newCrashSite(t), kind: kind, holds: map[string]string{}, seen: map[string]bool{}}
	text := layoutContext
	switch kind {
	case siteLayout: // as it is
	case sitePackages:
		writeFiles(t, s.shop(), leftFiles)
	case siteRegistry:
		text = fmt.Sprintf(registryContext, s.proxy.Host)
		var err error
		if s.base, err = pushSaying(s.proxy.Host+"/base:1", "one"); err != nil {
			t.Fatal(err)
		}
	}
	writeFiles(t, s.shop(), map[string]string{"context.toa.yaml": text})
	return s
}

// local says that nothing goes to a registry.
func (s *pointSite) local() bool { return s.kind != siteRegistry }

// images is how many are made.
func (s *pointSite) images() int {
	if s.kind == sitePackages {
		return 3
	}
	return 2
}

func (s *pointSite) shop() string    { return filepath.Join(s.dir, "shop") }
func (s *pointSite) cache() string   { return filepath.Join(s.dir, "cache") }
func (s *pointSite) tracing() string { return filepath.Join(s.dir, "trace") }

func (s *pointSite) registry() string {
	if s.local() {
		return ""
	}
	return s.proxy.Host + "/team"
}

// edit changes all images.
func (s *pointSite) edit(t *testing.T) {
	t.Helper()
	s.crashSite.edit(t)
	if s.kind == sitePackages {
		writeFiles(t, s.shop(), map[string]string{"packages/left/index.js": fmt.Sprint("left", s.version)})
	}
}

// outgrow makes what is known of images more than is kept: the run that prunes
// writes the index anew.
func (s *pointSite) outgrow(t *testing.T) {
	t.Helper()
	index := cache.NewIndex(cache.OpenDB(filepath.Join(s.cache(), "db", "index.db"), nil))
	for n := range 2 { // the last of a target would be kept
		old := cache.Entry{Digest: sha256Digest(nil), VerifiedAt: time.Unix(int64(n), 0)}
		if err := index.Put("old.test", "old.test/shop/composition-old", cache.Digest([]byte{byte(n)}), old, "composition/old", nil); err != nil {
			t.Fatal(err)
		}
	}
}

// due makes the next run prune.
func (s *pointSite) due(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(s.cache(), "pruned")); err != nil {
		t.Fatal(err)
	}
}

// renew changes all images and unpins their base.
func (s *pointSite) renew(t *testing.T) {
	t.Helper()
	s.edit(t)
	if err := os.RemoveAll(filepath.Join(s.shop(), workspace.LockFile)); err != nil {
		t.Fatal(err)
	}
	s.learn(t)
}

// learn asks which tags the images of the present sources have, of a plan that
// knows nothing of what was done before.
func (s *pointSite) learn(t *testing.T) {
	t.Helper()
	work := t.TempDir()
	if err := os.CopyFS(filepath.Join(work, "shop"), os.DirFS(s.shop())); err != nil {
		t.Fatal(err)
	}
	if !s.local() {
		lock := &workspace.Lock{}
		lock.Set(s.proxy.Host+"/base:1", "linux/amd64", s.base)
		writeFiles(t, filepath.Join(work, "shop"), map[string]string{workspace.LockFile: string(lock.Encode())})
	}
	cmd, out, log := s.process(t, work, "graph", "plan", "-C", filepath.Join(work, "shop"), "--output", "json")
	if err := cmd.Run(); err != nil {
		t.Fatalf("graph plan: %v\n%s", err, log)
	}
	var plan struct {
		Images []struct{ ID, Tag string }
	}
	if err := json.Unmarshal(out.Bytes(), &plan); err != nil {
		t.Fatal(err)
	}
	for _, image := range plan.Images {
		if component, ok := strings.CutPrefix(image.ID, "composition/default-"); ok {
			s.holds[image.Tag] = fmt.Sprintf("get.js %s%d\n", component, s.version)
		} else {
			s.holds[image.Tag] = fmt.Sprintf("left/index.js left%d\n", s.version)
		}
	}
}

// wantTruth wants all that is recorded to be so: in the index, in the one that
// machines share, in the package, in the lock.
func (s *pointSite) wantTruth(t *testing.T) {
	t.Helper()
	host, prefix := orchestrator.RegistryHost(s.registry()), orchestrator.Base(s.registry(), "shop")+"/"
	index := cache.NewIndex(cache.OpenDB(filepath.Join(s.cache(), "db", "index.db"), nil))
	for _, row := range slices.Concat(index.Rows(host, prefix), s.shared(t)) {
		tag := row.Key[:32]
		if deps := "deps-" + tag; s.holds[deps] != "" {
			tag = deps
		}
		s.wantImage(t, "shop/"+row.Repository, tag, row.Digest)
	}
	packages, err := filepath.Glob(filepath.Join(s.cache(), "charts", "*", "*.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range packages {
		s.wantPackage(t, path)
	}
	s.wantLock(t)
}

var pinnedReference = regexp.MustCompile(`(shop/composition-default-[ab]):(\w{32})@(sha256:\w{64})`)

// wantPackage wants a package to be whole, and to name images that are there.
func (s *pointSite) wantPackage(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := unpacked(file)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	found := pinnedReference.FindAllStringSubmatch(text, -1)
	if len(found) < 2 {
		t.Errorf("%s names %d images, want 2 at least", path, len(found))
	}
	for _, one := range found {
		s.wantImage(t, one[1], one[2], one[3])
	}
}

// wantLock wants the lock to be whole, where there is one.
func (s *pointSite) wantLock(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.shop(), workspace.LockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	lock, err := workspace.ParseLock(data)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := lock.Digest(s.proxy.Host+"/base:1", "linux/amd64"); got != s.base {
		t.Errorf("the base is pinned to %q, want %s", got, s.base)
	}
}

// wantImage wants a digest to be published under a tag, and its source to say
// what the tag was made of.
func (s *pointSite) wantImage(t *testing.T, repository, tag, digest string) {
	t.Helper()
	if s.seen[tag+digest] {
		return
	}
	raw, err := s.read(repository, "manifests", tag)
	if err != nil {
		t.Errorf("%s:%s is recorded: %v", repository, tag, err)
		return
	}
	if got := sha256Digest(raw); got != digest {
		t.Errorf("%s:%s is recorded as %s, and is %s", repository, tag, digest, got)
		return
	}
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	layer, err := s.read(repository, "blobs", m.Layers[len(m.Layers)-1].Digest)
	if err != nil {
		t.Errorf("%s:%s is recorded: %v", repository, tag, err)
		return
	}
	text, err := unpacked(bytes.NewReader(layer))
	if err != nil {
		t.Fatal(err)
	}
	if want := s.holds[tag]; want == "" || !strings.Contains(text, want) {
		t.Errorf("%s:%s holds\n%s\nwant what its tag was made of: %q", repository, tag, text, want)
	}
	s.seen[tag+digest] = true
}

// unpacked is a line with name and content for each file of an archive.
func unpacked(r io.Reader) (string, error) {
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return text.String(), nil
		}
		if err != nil {
			return "", err
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s %s\n", header.Name, content)
	}
}

// shared are the rows of the index that machines share; none before there is one.
func (s *pointSite) shared(t *testing.T) []cache.Row {
	t.Helper()
	if s.local() {
		return nil
	}
	raw, err := s.read("shop/index", "manifests", "v1")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	var all []cache.Row
	for _, layer := range m.Layers {
		data, err := s.read("shop/index", "blobs", layer.Digest)
		if err != nil {
			t.Fatalf("the shared index has a shard that is not there: %v", err)
		}
		rows, err := cache.DecodeShard(data)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rows...)
	}
	return all
}

// read reads a manifest or a blob of where images go, past toa.
func (s *pointSite) read(repository, kind, name string) ([]byte, error) {
	if s.local() {
		return s.readLayout(repository, kind, name)
	}
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "/v2/team/"+repository+"/"+kind+"/"+name, nil)
	request.Header.Set("Accept", "application/vnd.oci.image.manifest.v1+json")
	s.app.ServeHTTP(answer, request)
	switch answer.Code {
	case http.StatusOK:
		return answer.Body.Bytes(), nil
	case http.StatusNotFound:
		return nil, fmt.Errorf("%s %s: %w", kind, name, fs.ErrNotExist)
	default:
		return nil, fmt.Errorf("%s %s: %d", kind, name, answer.Code)
	}
}

func (s *pointSite) readLayout(repository, kind, name string) ([]byte, error) {
	dir := filepath.Join(s.cache(), "images", repository)
	if kind == "manifests" {
		var index struct {
			Manifests []struct {
				descriptor
				Annotations map[string]string
			}
		}
		raw, err := os.ReadFile(filepath.Join(dir, "index.json"))
		if err := errors.Join(err, json.Unmarshal(raw, &index)); err != nil {
			return nil, err
		}
		for _, m := range index.Manifests {
			if m.Annotations["org.opencontainers.image.ref.name"] == name {
				name = m.Digest
			}
		}
	}
	return os.ReadFile(filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(name, "sha256:")))
}

// expected are the files that runs are meant to leave.
var expected = regexp.MustCompile(`^(` + strings.Join([]string{
	`cache/db/index\.db\.spool/[0-9a-f]{16}-\w+`, `cache/(layers|blobs/sha256)/\w{64}`, `cache/db/(files|index)\.db(\.damaged)?`, `cache/pruned`,
	`cache/npm/.*`, `shop/(packages/left/(package\.json|index\.js)|components/a/package(-lock)?\.json)`,
	`cache/charts/shop-\w+/(\.toa-package\.json|shop-0\.1\.0\.tgz)`,
	`cache/images/shop/composition-default-[ab]/(blobs/sha256/\w{64}|index\.json|oci-layout|\.lock)`,
	`shop/(context\.toa\.yaml|toa\.lock|components/[ab]/(manifest\.toa\.yaml|operations/get\.js))`,
	`trace`,
}, "|") + `)$`)

// unexpected are the files that only a run at work may have.
func (s *pointSite) unexpected(t *testing.T) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(os.DirFS(s.dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !expected.MatchString(path) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// age makes what a run has left look as if that was days ago: what is young may
// be the work of a run that lives.
func (s *pointSite) age(t *testing.T) {
	t.Helper()
	old := time.Now().Add(-1000 * time.Hour)
	for _, path := range s.unexpected(t) {
		for ; path != "." && path != "cache/tmp"; path = filepath.Dir(path) { // what is in a directory is dated by it
			if err := os.Chtimes(filepath.Join(s.dir, path), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// wantClean wants that nothing is left of a run that has died, once the cache was
// pruned: builds do that once a day.
func (s *pointSite) wantClean(t *testing.T) {
	t.Helper()
	left := s.unexpected(t)
	if len(left) == 0 {
		return
	}
	cmd, _, log := s.process(t, s.dir, "cache", "prune", "--age", "24h")
	if err := cmd.Run(); err != nil {
		t.Fatalf("cache prune: %v\n%s", err, log)
	}
	if left := s.unexpected(t); len(left) > 0 {
		t.Errorf("what the dead run left is still there: %q", left)
		for _, path := range left {
			_ = os.Remove(filepath.Join(s.dir, path)) // the next strike has its own
		}
	}
}

func sha256Digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }
