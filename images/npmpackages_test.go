package images_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// extended is the step of an image that only extensions need packages in.
func extended(registry string, packages ...string) orchestrator.Step {
	return orchestrator.Step{
		ID: "dependencies/edge",
		Recipe: templates.Recipe{
			Kind: "dependencies", Base: templates.Scratch, Platforms: []string{"linux/amd64", "linux/arm64"},
			Workdir: "/composition", NPM: templates.NPM{Registry: registry}, Packages: packages,
		},
		Reference: orchestrator.Reference{Repository: "shop/composition-edge", Tag: "deps-1"},
	}
}

// layersOf are the digests of one platform's layers.
func layersOf(t *testing.T, b *bench, image *images.Image, platform int) []v1.Hash {
	t.Helper()
	var index v1.IndexManifest
	decode(t, b, image.Digest(), &index)
	var all []v1.Hash
	for _, layer := range manifestOf(t, b, index.Manifests[platform].Digest.String()).Layers {
		all = append(all, layer.Digest)
	}
	return all
}

// Each package brings what it needs below itself and replaces one of its name,
// so that nothing else of the runtime's own packages changes.
func TestPackagesOfExtensions(t *testing.T) {
	t.Parallel()
	realNPM(t)
	reg := newNPMRegistry(t, map[string]map[string]any{
		"@aws/client": {"dependencies": map[string]string{"left": "1.0.0"}},
		"left":        {},
		"tool":        {"bin": map[string]string{"tool": "index.js"}, "dependencies": map[string]string{"left": "1.0.0"}},
	})
	b, dir, seen := npmBench(t)
	image := b.build(t, extended(reg.url, "@aws/client@1.0.0", "tool@1.0.0"))
	same(t, "files", names(installed(t, b, image, 0)), []string{
		"toa/node_modules/.bin/tool",
		"toa/node_modules/@aws/client/.wh..wh..opq", "toa/node_modules/@aws/client/index.js",
		"toa/node_modules/@aws/client/node_modules/left/index.js", "toa/node_modules/@aws/client/node_modules/left/package.json",
		"toa/node_modules/@aws/client/package.json",
		"toa/node_modules/tool/.wh..wh..opq", "toa/node_modules/tool/index.js",
		"toa/node_modules/tool/node_modules/left/index.js", "toa/node_modules/tool/node_modules/left/package.json",
		"toa/node_modules/tool/package.json",
	})
	same(t, "layers of the platforms", layersOf(t, b, image, 0), layersOf(t, b, image, 1))
	if strings.Contains(seen.text(), "reproducible") {
		t.Errorf("versions that extensions state are complained of: %s", seen.text())
	}
	tmpIsEmpty(t, dir)
}

func TestPackagesOfExtensionsWithScripts(t *testing.T) {
	t.Parallel()
	realNPM(t)
	reg := newNPMRegistry(t, map[string]map[string]any{"compiled": {"scripts": map[string]string{"install": "exit 1"}}})
	b, dir, _ := npmBench(t)
	_, err := b.native.Build(t.Context(), extended(reg.url, "compiled@1.0.0"), nil)
	var needs *images.NeedsEngineError
	if !errors.As(err, &needs) || needs.Owner != "extensions" || !strings.Contains(needs.What, "compiled") {
		t.Errorf("Build: got %v, want a NeedsEngineError", err)
	}
	tmpIsEmpty(t, dir)
}

// Platforms share what is the same for all, and only that.
func TestPlatformsShareLayers(t *testing.T) {
	t.Parallel()
	realNPM(t)
	for _, row := range []struct {
		name   string
		more   map[string]map[string]any
		locked bool
		shared bool
	}{
		{"pure, without a lockfile", nil, false, true},
		{"platform's own", map[string]map[string]any{"only-arm": {"os": []string{"linux"}, "cpu": []string{"arm64"}}}, true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			packages := map[string]map[string]any{"left": {}}
			maps.Copy(packages, row.more)
			reg := newNPMRegistry(t, packages)
			packageJSON, lock := reg.lock(t)
			if !row.locked {
				lock = ""
			}
			b, _, _ := npmBench(t)
			image := b.build(t, dependencies(t, packageJSON, lock, reg.url))
			shared := fmt.Sprint(layersOf(t, b, image, 0)) == fmt.Sprint(layersOf(t, b, image, 1))
			if shared != row.shared {
				t.Errorf("layers are shared: got %t, want %t", shared, row.shared)
			}
		})
	}
}

// C80: what was resolved without a lockfile is written in the image's history.
func TestResolvedTreeIsRecorded(t *testing.T) {
	t.Parallel()
	realNPM(t)
	reg := newNPMRegistry(t, map[string]map[string]any{"left": {}})
	packageJSON, _ := reg.lock(t)
	b, _, seen := npmBench(t)
	image := b.build(t, dependencies(t, packageJSON, "", reg.url))
	var index v1.IndexManifest
	decode(t, b, image.Digest(), &index)
	history := configOf(t, b, index.Manifests[0].Digest.String()).History[0].CreatedBy
	_, digest, ok := strings.Cut(history, "npm install in /composition/store-orders (resolved ")
	if digest = strings.TrimSuffix(digest, ")"); !ok || !strings.Contains(seen.text(), "resolved now: "+digest) {
		t.Errorf("history %q and notice %q do not tell the same", history, seen.text())
	}
}

// C79: nothing is built of a lockfile that lacks this platform's part.
func TestLockMadeOnAnotherSystem(t *testing.T) {
	t.Parallel()
	lock := `{"lockfileVersion":3,"packages":{"":{"dependencies":{"rollup":"4"}},
		"node_modules/rollup":{"optionalDependencies":{"@rollup/rollup-darwin-arm64":"4","@rollup/rollup-linux-x64-gnu":"4"}},
		"node_modules/@rollup/rollup-darwin-arm64":{"os":["darwin"],"cpu":["arm64"],"optional":true}}}`
	b, dir, seen := npmBench(t)
	fakeNPM(t, b, "echo npm runs")
	_, err := b.native.Build(t.Context(), dependencies(t, `{"dependencies":{"rollup":"4"}}`, lock, ""), nil)
	var lacks *images.LockPlatformError
	if !errors.As(err, &lacks) || !strings.Contains(lacks.Error(), "store.orders: package-lock.json lacks @rollup/rollup-linux-x64-gnu") ||
		!strings.Contains(lacks.Hint(), "rm -rf node_modules package-lock.json") {
		t.Errorf("Build: got %v, want a LockPlatformError", err)
	}
	if seen.text() != "" {
		t.Errorf("npm was started: %s", seen.text())
	}
	tmpIsEmpty(t, dir)
}

// C81: a token in .npmrc gets packages and is found nowhere afterwards.
func TestPrivateRegistry(t *testing.T) {
	t.Parallel()
	realNPM(t)
	const canary = "canary-npm-token"
	reg := newNPMRegistry(t, map[string]map[string]any{"left": {}})
	reg.token = canary
	packageJSON, lock := reg.lock(t)
	lock = strings.ReplaceAll(lock, "https://registry.npmjs.org", reg.url)
	b, dir, seen := npmBench(t)
	s := dependencies(t, packageJSON, lock, reg.url)
	config := strings.TrimPrefix(reg.url, "http:") + "/:_authToken=" + canary + "\n"
	files{".npmrc": config}.write(t, s.Sources[0].Dir)
	s.Recipe.Installs[0].Config = cache.Digest([]byte(config)).String()
	image := b.build(t, s)
	same(t, "files", names(installed(t, b, image, 0)), []string{"left/index.js", "left/package.json"})

	for name, content := range installed(t, b, image, 0) {
		if strings.Contains(content, canary) {
			t.Errorf("the token is in %s", name)
		}
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if data, err := os.ReadFile(path); err != nil || strings.Contains(string(data), canary) {
			t.Errorf("the token is in %s, %v", path, err)
		}
		return nil
	})
	if err != nil || strings.Contains(seen.text(), canary) {
		t.Errorf("the token is in the output, or: %v", err)
	}

	files{".npmrc": "registry=" + reg.url}.write(t, s.Sources[0].Dir)
	s.Recipe.Installs[0].Config = cache.Digest([]byte("registry=" + reg.url)).String()
	fresh := newBench(t, t.TempDir())
	fresh.native.NPMCache = t.TempDir()
	_, err = fresh.native.Build(t.Context(), s, nil)
	var failed *images.NPMError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "E401") || !strings.Contains(failed.Hint(), "_authToken") {
		t.Errorf("Build without the token: got %v, want npm's E401", err)
	}
}

// unauthorized answers a request that does not carry the registry's token.
func (r *npmRegistry) unauthorized(w http.ResponseWriter, req *http.Request) bool {
	if r.token == "" || req.Header.Get("Authorization") == "Bearer "+r.token {
		return false
	}
	w.WriteHeader(http.StatusUnauthorized)
	return true
}
