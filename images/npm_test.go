package images_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// npmRegistry serves packages made here.
type npmRegistry struct {
	url      string
	packages map[string]npmPackage
	// token is what requests have to carry; empty means nothing.
	token string
}

// npmPackage is version 1.0.0 of a package: the fields of its package.json
// beside name and version, and its archive.
type npmPackage struct {
	fields    map[string]any
	archive   []byte
	integrity string
}

func newNPMRegistry(t *testing.T, packages map[string]map[string]any) *npmRegistry {
	t.Helper()
	reg := &npmRegistry{packages: map[string]npmPackage{}}
	for name, fields := range packages {
		all := map[string]any{"name": name, "version": "1.0.0"}
		for key, value := range fields {
			all[key] = value
		}
		archive := npmArchive(t, all)
		sum := sha512.Sum512(archive)
		reg.packages[name] = npmPackage{all, archive, "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
	}
	server := httptest.NewServer(reg)
	t.Cleanup(server.Close)
	reg.url = server.URL
	return reg
}

func npmArchive(t *testing.T, fields map[string]any) []byte {
	t.Helper()
	manifest, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	for name, content := range map[string]string{"package.json": string(manifest), "index.js": "module.exports = 1\n"} {
		header := &tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(content))}
		if err := errors.Join(archive.WriteHeader(header), write(archive, content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func write(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

func (r *npmRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if r.unauthorized(w, req) {
		return
	}
	name, file, _ := strings.Cut(strings.Trim(req.URL.Path, "/"), "/-/")
	found, ok := r.packages[name]
	switch {
	case !ok:
		http.NotFound(w, req)
	case file != "":
		_, _ = w.Write(found.archive)
	default:
		version := map[string]any{"dist": map[string]string{"tarball": r.url + "/" + name + "/-/" + name + "-1.0.0.tgz", "integrity": found.integrity}}
		for key, value := range found.fields {
			version[key] = value
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": name, "dist-tags": map[string]string{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": version},
		})
	}
}

// lock is the lockfile of a component that depends on all packages; those
// named in dev are for development.
func (r *npmRegistry) lock(t *testing.T, dev ...string) (packageJSON, lock string) {
	t.Helper()
	wanted, optional, forDev := map[string]string{}, map[string]string{}, map[string]string{}
	packages := map[string]any{}
	for name, one := range r.packages {
		entry := map[string]any{
			"version": "1.0.0", "integrity": one.integrity,
			"resolved": "https://registry.npmjs.org/" + name + "/-/" + name + "-1.0.0.tgz",
		}
		for _, key := range []string{"os", "cpu", "bin"} {
			if value, ok := one.fields[key]; ok {
				entry[key] = value
			}
		}
		if one.fields["scripts"] != nil {
			entry["hasInstallScript"] = true
		}
		switch {
		case slices.Contains(dev, name):
			entry["dev"], forDev[name] = true, "1.0.0"
		case one.fields["os"] != nil:
			entry["optional"], optional[name] = true, "1.0.0"
		default:
			wanted[name] = "1.0.0"
		}
		packages["node_modules/"+name] = entry
	}
	root := map[string]any{"name": "orders", "version": "1.0.0", "dependencies": wanted, "optionalDependencies": optional, "devDependencies": forDev}
	packages[""] = root
	return text(t, root), text(t, map[string]any{"name": "orders", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": packages})
}

func text(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// dependencies is the step of a dependencies image of one component.
func dependencies(t *testing.T, packageJSON, lock, registry string) orchestrator.Step {
	t.Helper()
	content := files{"package.json": packageJSON}
	one := templates.Install{Label: "store-orders", Package: cache.Digest([]byte(packageJSON)).String(), Scripts: "run"}
	if lock != "" {
		content["package-lock.json"] = lock
		one.LockName, one.Lock = "package-lock.json", cache.Digest([]byte(lock)).String()
	}
	return orchestrator.Step{
		ID: "dependencies/edge",
		Recipe: templates.Recipe{
			Kind: "dependencies", Base: templates.Scratch, Platforms: []string{"linux/amd64", "linux/arm64"},
			Workdir: "/composition", NPM: templates.NPM{Registry: registry}, Installs: []templates.Install{one},
		},
		Sources:   []orchestrator.Source{{Label: "store-orders", Component: "store.orders", Dir: content.write(t, t.TempDir())}},
		Reference: orchestrator.Reference{Repository: "shop/composition-edge", Tag: "deps-1"},
	}
}

// npmBench is a bench with a cache of npm's own.
func npmBench(t *testing.T) (*bench, string, *observer) {
	t.Helper()
	dir := t.TempDir()
	b := newBench(t, dir)
	b.native.NPMCache = filepath.Join(dir, "npm")
	seen := &observer{}
	b.native.Observe = seen.observe
	return b, dir, seen
}

func realNPM(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not on this machine")
	}
}

// fakeNPM is a shell script in npm's place.
func fakeNPM(t *testing.T, b *bench, script string) {
	t.Helper()
	b.native.NPM = filepath.Join(files{"npm": "x:#!/bin/sh\n" + script}.write(t, t.TempDir()), "npm")
}

type observer struct {
	mu     sync.Mutex // guards events
	events []orchestrator.Event
}

func (o *observer) observe(e orchestrator.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, e)
}

func (o *observer) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []string
	for _, e := range o.events {
		switch e := e.(type) {
		case orchestrator.LogEvent:
			all = append(all, e.Text)
		case orchestrator.NoticeEvent:
			all = append(all, e.Text)
		}
	}
	return strings.Join(all, "\n")
}

func tmpIsEmpty(t *testing.T, cacheDir string) {
	t.Helper()
	left, err := os.ReadDir(filepath.Join(cacheDir, "tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// installed are the files of one platform's image.
func installed(t *testing.T, b *bench, image *images.Image, platform int) files {
	t.Helper()
	var index v1.IndexManifest
	decode(t, b, image.Digest(), &index)
	all := files{}
	for _, layer := range manifestOf(t, b, index.Manifests[platform].Digest.String()).Layers {
		path, err := b.blobs.Path(layer.Digest.String())
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range regularFiles(gunzip(t, path)) {
			all[strings.TrimPrefix(name, "composition/store-orders/node_modules/")] = content
		}
	}
	return all
}

func names(all files) []string {
	list := []string{}
	for name := range all {
		if name != ".package-lock.json" {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

func TestNPMInstallsForEachPlatform(t *testing.T) {
	t.Parallel()
	realNPM(t)
	reg := newNPMRegistry(t, map[string]map[string]any{
		"left":      {"bin": map[string]string{"left": "index.js"}},
		"only-x64":  {"os": []string{"linux"}, "cpu": []string{"x64"}},
		"only-arm":  {"os": []string{"linux"}, "cpu": []string{"arm64"}},
		"only-mac":  {"os": []string{"darwin"}, "scripts": map[string]string{"install": "exit 1"}},
		"test-tool": {"scripts": map[string]string{"install": "exit 1"}},
	})
	packageJSON, lock := reg.lock(t, "test-tool")
	b, dir, _ := npmBench(t)
	s := dependencies(t, packageJSON, lock, reg.url)
	image := b.build(t, s)
	for i, other := range []string{"only-x64", "only-arm"} {
		same(t, s.Recipe.Platforms[i], names(installed(t, b, image, i)), []string{
			".bin/left", "left/index.js", "left/package.json", other + "/index.js", other + "/package.json",
		})
	}
	same(t, ".bin/left", installed(t, b, image, 0)[".bin/left"], "->../left/index.js")
	tmpIsEmpty(t, dir)

	again := newBench(t, dir)
	again.native.NPM = "no-such-npm" // what was installed is kept by content
	same(t, "digest", again.build(t, s).Digest(), image.Digest())
}

func TestNPMInstallsOnceWhatIsPortable(t *testing.T) {
	t.Parallel()
	reg := newNPMRegistry(t, map[string]map[string]any{"left": {}})
	packageJSON, lock := reg.lock(t)
	b, _, seen := npmBench(t)
	fakeNPM(t, b, `echo "run: $*"; mkdir -p node_modules/left; echo 1 > node_modules/left/index.js`)
	b.build(t, dependencies(t, packageJSON, lock, reg.url))
	same(t, "runs", strings.Count(seen.text(), "run: ci "), 1)
	if strings.Contains(seen.text(), "--cpu") {
		t.Errorf("npm was told a platform: %s", seen.text())
	}
}

func TestNPMWithoutLockIsNotReproducible(t *testing.T) {
	t.Parallel()
	realNPM(t)
	reg := newNPMRegistry(t, map[string]map[string]any{"left": {}})
	packageJSON, _ := reg.lock(t)
	b, dir, seen := npmBench(t)
	image := b.build(t, dependencies(t, packageJSON, "", reg.url))
	same(t, "files", names(installed(t, b, image, 0)), []string{"left/index.js", "left/package.json"})
	if !strings.Contains(seen.text(), "store.orders has no lockfile") {
		t.Errorf("no notice in %q", seen.text())
	}
	tmpIsEmpty(t, dir)
}

func TestInstallScriptsNeedAnEngine(t *testing.T) {
	t.Parallel()
	realNPM(t)
	reg := newNPMRegistry(t, map[string]map[string]any{"compiled": {"scripts": map[string]string{"install": "exit 1"}}})
	for _, row := range []struct {
		name   string
		locked bool
	}{{"lock", true}, {"no lock", false}} {
		t.Run(row.name, func(t *testing.T) {
			packageJSON, lock := reg.lock(t)
			if !row.locked {
				lock = ""
			}
			b, dir, _ := npmBench(t)
			s := dependencies(t, packageJSON, lock, reg.url)
			_, err := b.native.Build(t.Context(), s, nil)
			var needs *images.NeedsEngineError
			if !errors.As(err, &needs) || needs.Owner != "store.orders" || !strings.Contains(needs.What, "compiled") {
				t.Errorf("Build: got %v, want a NeedsEngineError for compiled", err)
			}
			tmpIsEmpty(t, dir)
			s.Recipe.Installs[0].Scripts = "ignore"
			same(t, "files", names(installed(t, b, b.build(t, s), 0)), []string{"compiled/index.js", "compiled/package.json"})
		})
	}
}

func TestNPMThatIsRefused(t *testing.T) {
	t.Parallel()
	lock := `{"lockfileVersion":3,"packages":{}}`
	for _, row := range []struct {
		name, packageJSON, lock, npm, want string
	}{
		{"npm is missing", `{}`, lock, "no-such-npm", "no-such-npm is not on this machine"},
		{"local directory", `{"dependencies":{"near":"file:../near"}}`, lock, "npm", "near (file:../near) is on this machine only"},
		{"lockfile is none", `{}`, `{`, "npm", "read lockfile"},
		{"package.json is none", `[]`, lock, "npm", "read package.json"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, dir, _ := npmBench(t)
			b.native.NPM = row.npm
			_, err := b.native.Build(t.Context(), dependencies(t, row.packageJSON, row.lock, ""), nil)
			if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "store.orders") {
				t.Errorf("Build: got %v, want %q and the component", err, row.want)
			}
			tmpIsEmpty(t, dir)
		})
	}
}

func TestLockThatDoesNotFit(t *testing.T) {
	t.Parallel()
	realNPM(t)
	reg := newNPMRegistry(t, map[string]map[string]any{"left": {}})
	b, dir, _ := npmBench(t)
	s := dependencies(t, `{"name":"x","version":"1.0.0","dependencies":{"left":"1.0.0"}}`,
		`{"name":"x","version":"1.0.0","lockfileVersion":3,"packages":{"":{"name":"x","version":"1.0.0"}}}`, reg.url)
	_, err := b.native.Build(t.Context(), s, nil)
	var failed *images.NPMError
	if !errors.As(err, &failed) || !strings.Contains(failed.Hint(), "lockfile fits") || !strings.Contains(failed.Error(), "npm ci") {
		t.Errorf("Build: got %v, want an NPMError with a hint", err)
	}
	tmpIsEmpty(t, dir)
}

func TestInstalledLinksMustStay(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"/etc/passwd", "../../outside", "../.."} {
		b, dir, _ := npmBench(t)
		fakeNPM(t, b, "ln -s "+target+" node_modules/evil")
		_, err := b.native.Build(t.Context(), dependencies(t, `{}`, `{"packages":{}}`, ""), nil)
		if err == nil || !strings.Contains(err.Error(), "leaves the component") {
			t.Errorf("link to %s: got %v, want an error", target, err)
		}
		tmpIsEmpty(t, dir)
	}
}

func TestNPMSeesLittleOfOurEnvironment(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary")
	t.Setenv("NPM_TOKEN", "for-npm")
	t.Setenv("npm_config_prefix", "/wrong")
	b, _, seen := npmBench(t)
	fakeNPM(t, b, "env; pwd; umask")
	b.build(t, dependencies(t, `{}`, `{"packages":{}}`, ""))
	for want, count := range map[string]int{"canary": 0, "/wrong": 0, "NPM_TOKEN=for-npm": 1, "TMPDIR=" + os.TempDir(): 1, "\nPATH=": 1} {
		if got := strings.Count("\n"+seen.text(), want); (got > 0) != (count > 0) {
			t.Errorf("%q comes %d times in %s", want, got, seen.text())
		}
	}
}

// The whole tree of processes is gone when Build returns, and so are its files.
func TestInterruptedNPMLeavesNothing(t *testing.T) {
	t.Parallel()
	b, dir, _ := npmBench(t)
	pipe := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// Both processes hold the pipe open until they end.
	fakeNPM(t, b, "exec 3>"+pipe+"\n(trap '' INT TERM; sleep 1000) &\necho 1 > node_modules/half\necho ready >&3\nsleep 1000\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupted")
	done := make(chan error, 1)
	go func() {
		_, err := b.native.Build(ctx, dependencies(t, `{}`, `{"packages":{}}`, ""), nil)
		done <- err
	}()
	alive, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = alive.Close() }()
	if _, err := io.ReadFull(alive, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	cancel(stop)
	if err := <-done; !errors.Is(err, stop) {
		t.Errorf("Build: got %v, want %v", err, stop)
	}
	if _, err := io.ReadAll(alive); err != nil { // ends when the last holder has ended
		t.Error(err)
	}
	tmpIsEmpty(t, dir)
}

func TestLockThatChangedSincePlanning(t *testing.T) {
	t.Parallel()
	b, _, _ := npmBench(t)
	s := dependencies(t, `{}`, `{"packages":{}}`, "")
	files{"package-lock.json": `{"packages":{"":{}}}`}.write(t, s.Sources[0].Dir)
	_, err := b.native.Build(t.Context(), s, nil)
	var changed *cache.ChangedError
	if !errors.As(err, &changed) || changed.Path != "package-lock.json" {
		t.Errorf("Build: got %v, want a ChangedError for the lockfile", err)
	}
}
