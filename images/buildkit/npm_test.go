package buildkit_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/images/buildkit"
	"toa.io/toa/internal/enginetest"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// tinyPackage is a package as registries hold it.
func tinyPackage(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	for _, file := range [][2]string{
		{"package/package.json", `{"name": "tiny", "version": "1.0.0", "bin": {"tiny": "cli.js"}}`},
		{"package/index.js", "module.exports = 1\n"},
		{"package/cli.js", "#!/usr/bin/env node\n"},
	} {
		if err := archive.WriteHeader(&tar.Header{Name: file[0], Mode: 0o644, Size: int64(len(file[1])), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(file[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// npmRegistry is a registry of the one package, for those who know the token.
func npmRegistry(t testing.TB, token string) (url, integrity string) {
	t.Helper()
	data := tinyPackage(t)
	sum := sha512.Sum512(data)
	integrity = "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if strings.HasSuffix(r.URL.Path, ".tgz") {
			_, _ = w.Write(data)
			return
		}
		versions := map[string]any{}
		for _, version := range []string{"1.0.0", "2.0.0"} {
			versions[version] = map[string]any{
				"name": "tiny", "version": version, "bin": map[string]string{"tiny": "cli.js"},
				"dist": map[string]string{"tarball": server.URL + "/tiny/-/tiny-" + version + ".tgz", "integrity": integrity},
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"name": "tiny", "dist-tags": map[string]string{"latest": "2.0.0"}, "versions": versions})
	}))
	t.Cleanup(server.Close)
	return server.URL, integrity
}

// member writes a component that needs the package.
func member(t testing.TB, url, integrity string) string {
	t.Helper()
	return files{
		"manifest.toa.yaml": "name: goods\n",
		"package.json":      `{"name": "goods", "version": "1.0.0", "dependencies": {"tiny": "1.0.0"}}`,
		"package-lock.json": fmt.Sprintf(`{"name": "goods", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
			"": {"name": "goods", "version": "1.0.0", "dependencies": {"tiny": "1.0.0"}},
			"node_modules/tiny": {"version": "1.0.0", "resolved": "%s/tiny/-/tiny-1.0.0.tgz", "integrity": %q, "bin": {"tiny": "cli.js"}}}}`, url, integrity),
		".npmrc": fmt.Sprintf("registry=%s/\n//%s/:_authToken=${NPM_TOKEN}\n", url, strings.TrimPrefix(url, "http://")),
	}.write(t, t.TempDir())
}

// installation is a step that installs the packages of a member.
func (b *bench) installation(t testing.TB, base, dir string) orchestrator.Step {
	t.Helper()
	digest := func(name string) string { return cache.Digest([]byte(read(t, dir, name))).String() }
	s := b.dependencies(t, "npm")
	s.Recipe.Base = base
	s.Recipe.Arguments = []string{"NPM_TOKEN"}
	s.Recipe.Installs = []templates.Install{{
		Label: "store-goods", Package: digest("package.json"), Lock: digest("package-lock.json"),
		LockName: "package-lock.json", Config: digest(".npmrc"), Scripts: "run",
	}}
	s.Sources = []orchestrator.Source{source(t, "store-goods", dir)}
	b.resolve(t, &s.Recipe)
	return s
}

func read(t testing.TB, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Packages come from a private registry. The tests share a base: it is large.
func TestPackages(t *testing.T) {
	const token = "canary-5b1fe03d"
	t.Setenv("NPM_TOKEN", token)
	t.Setenv("HOME", t.TempDir()) // not the npm config of who runs the tests
	b := newBench(t)
	base := enginetest.Node(t, b.registry)
	url, integrity := npmRegistry(t, token)
	dir := member(t, url, integrity)
	t.Run("same as native", func(t *testing.T) { b.samePackages(t, base, dir) })
	t.Run("package of the workspace", func(t *testing.T) { b.sameLocals(t, base) })
	t.Run("token", func(t *testing.T) { b.noToken(t, b.installation(t, base, dir), token) })
	t.Run("stale lockfile", func(t *testing.T) { b.staleLockfile(t, base, dir) })
}

// Packages are the same whether npm installs them here or in the engine,
// whatever lies in the engine's npm cache (C78).
func (b *bench) samePackages(t *testing.T, base, dir string) {
	b.build(t, b.builder, b.dependencies(t, "litter", "--mount=type=cache,target=/root/.npm,sharing=locked mkdir -p /root/.npm/_cacache/index-v5 && echo garbage > /root/.npm/_cacache/index-v5/00"))
	step := b.installation(t, base, dir)
	natively := step
	natively.Reference.Tag = "deps-native"
	b.native.NPMCache = t.TempDir()
	bare := files{"manifest.toa.yaml": "name: goods\n", "package.json": read(t, dir, "package.json"), "package-lock.json": read(t, dir, "package-lock.json")}.write(t, t.TempDir())
	upper := on(step, b.composition(t, "one", map[string]string{"store-goods": bare}))
	other := upper
	other.Reference.Tag = "native"
	got := onNode(t, b.publish(t, b.builder, upper, b.publish(t, b.builder, step)))
	want := onNode(t, b.publish(t, b.native, other, b.publish(t, b.native, natively)))
	if _, ok := got["composition/store-goods/node_modules/.bin/tiny"]; !ok {
		t.Error("nothing was installed")
	}
	sameMaps(t, "files", got, want)
}

// A package of the workspace is installed alike here and in the engine, and
// nothing is left of what it was packed in.
func (b *bench) sameLocals(t *testing.T, base string) {
	near := files{"package.json": `{"name": "near", "version": "1.0.0", "bin": "run.js"}`, "run.js": "x:#!/usr/bin/env node\n"}.write(t, t.TempDir())
	listed := tree(t, near)
	for name, lock := range map[string]string{
		"no lockfile": "",
		"locked": `{"name": "goods", "lockfileVersion": 3, "requires": true, "packages": {
			"": {"name": "goods", "dependencies": {"near": "file:../near"}}, "../near": {}, "node_modules/near": {"resolved": "../near", "link": true}}}`,
	} {
		component := files{"package.json": `{"name": "goods", "dependencies": {"near": "file:../near"}}`, ".npmrc": "", "package-lock.json": lock}.write(t, t.TempDir())
		step := b.installation(t, base, component)
		one := &step.Recipe.Installs[0]
		if lock == "" {
			one.LockName, one.Lock = "", ""
		}
		one.Locals = []templates.Local{{Name: "near", Digest: listed.Key.String()}}
		step.Sources[0].Locals = []orchestrator.Local{{Path: near, Tree: listed}}
		step.Reference.Tag = "deps-" + cache.Digest([]byte(name)).Tag()
		natively := step
		natively.Reference.Tag += "-native"
		got, want := onNode(t, b.publish(t, b.builder, step)), onNode(t, b.publish(t, b.native, natively))
		if _, removed := got["composition/store-goods/.wh..packages"]; !removed {
			t.Errorf("%s: the packed package stays in the image", name)
		}
		// What npm was given stays below what is removed, and below what the
		// composition's image has of its own.
		for _, given := range []string{"package.json", "package-lock.json", ".packages", ".packages/near.tar", ".wh..packages"} {
			delete(got, "composition/store-goods/"+given)
		}
		sameMaps(t, name, got, want)
		if want["composition/store-goods/node_modules/near/run.js"] == "" {
			t.Errorf("%s: nothing was installed: %q", name, want)
		}
	}
}

// onNode is what an image holds beside its base, which is large.
func onNode(t *testing.T, made orchestrator.Result) map[string]string {
	t.Helper()
	layers, err := pull(t, made, host).Layers()
	if err != nil {
		t.Fatal(err)
	}
	return contentOf(t, layers[enginetest.NodeLayers:])
}

// A private registry's token is in no image, and neither is what says it.
func (b *bench) noToken(t *testing.T, step orchestrator.Step, token string) {
	made := b.publish(t, b.builder, step)
	file, err := json.Marshal(configOf(t, pull(t, made, host)))
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"config": string(file), "files": all(onNode(t, made)), "output": b.said()} {
		if strings.Contains(text, token) || strings.Contains(text, "_authToken=$") {
			t.Errorf("%s holds the token or the .npmrc", what)
		}
	}
}

// A lockfile that does not fit is npm's to refuse: whose it is and how to mend
// it are said.
func (b *bench) staleLockfile(t *testing.T, base, dir string) {
	text := strings.Replace(read(t, dir, "package.json"), `"tiny": "1.0.0"`, `"tiny": "2.0.0"`, 1)
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := b.builder.Build(t.Context(), b.installation(t, base, dir), nil)
	var failed *buildkit.RunError
	if !errors.As(err, &failed) || failed.Owner != "store.goods" || !strings.Contains(hint(err), "npm install") {
		t.Errorf("Build: %v (hint %q), want a *RunError of store.goods", err, hint(err))
	}
}

// A lockfile that was made on another system lacks what a package needs here,
// of which npm says nothing (C79): it is refused before any engine is asked.
func TestLockOfAnotherPlatform(t *testing.T) {
	b := newBenchAt(t, "unix:///nowhere/at/all")
	dir := files{
		"package.json": `{"name": "goods", "dependencies": {"rollup": "4.0.0"}}`,
		"package-lock.json": `{"lockfileVersion": 3, "packages": {"": {"dependencies": {"rollup": "4.0.0"}},
			"node_modules/rollup": {"version": "4.0.0", "optionalDependencies": {"@rollup/rollup-linux-s390x-gnu": "4.0.0", "@rollup/rollup-darwin-arm64": "4.0.0"}},
			"node_modules/@rollup/rollup-darwin-arm64": {"version": "4.0.0", "optional": true, "os": ["darwin"], "cpu": ["arm64"]}}}`,
		".npmrc": "",
	}.write(t, t.TempDir())
	t.Setenv("NPM_TOKEN", "none")
	step := b.installation(t, enginetest.Base(t, b.registry), dir)
	step.Recipe.Base = enginetest.Base(t, b.registry, host, "linux/s390x")
	step.Recipe.Platforms = []string{"linux/s390x"}
	b.resolve(t, &step.Recipe)
	_, err := b.builder.Build(t.Context(), step, nil)
	var lack *images.LockPlatformError
	if !errors.As(err, &lack) || lack.Component != "store.goods" || hint(err) == "" {
		t.Errorf("Build: %v (hint %q), want a *LockPlatformError of store.goods", err, hint(err))
	}
}

// Packages that no lockfile states are told of (C80).
func TestNoLockfile(t *testing.T) {
	t.Parallel()
	b := newBenchAt(t, "unix:///nowhere/at/all")
	dir := files{"package.json": `{"name": "goods"}`}.write(t, t.TempDir())
	step := b.dependencies(t, "npm")
	step.Recipe.Installs = []templates.Install{{Label: "store-goods", Package: cache.Digest([]byte(read(t, dir, "package.json"))).String()}}
	step.Sources = []orchestrator.Source{source(t, "store-goods", dir)}
	if _, err := b.builder.Build(t.Context(), step, nil); err == nil {
		t.Error("it was built nowhere")
	}
	if said := b.said(); !strings.Contains(said, "notice: store.goods has no lockfile") {
		t.Errorf("nothing is told of the missing lockfile: %q", said)
	}
}
