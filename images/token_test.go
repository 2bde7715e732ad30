package images_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/workspace"
)

// planned are the steps of a workspace, as a run plans them.
func planned(t *testing.T, content files) []orchestrator.Step {
	t.Helper()
	root, kept := content.write(t, t.TempDir()), t.TempDir()
	ws, err := workspace.Load(os.DirFS(root), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	tracked, err := cache.OpenFiles(cache.OpenDB(filepath.Join(kept, "files.db"), nil), root)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tracked.Close() }()
	plan, err := orchestrator.Planner{
		Workspace: ws, Root: root, Files: tracked, Lock: &workspace.Lock{}, Registry: "registry.test",
		Index: cache.NewIndex(cache.OpenDB(filepath.Join(kept, "index.db"), nil)),
	}.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return plan.Steps
}

// A token that someone has written into .npmrc gets packages, and is in nothing
// that is made.
func TestTokenInNPMConfigIsInNoImage(t *testing.T) {
	realNPM(t)
	const canary = "canary-npm-token"
	reg := newNPMRegistry(t, map[string]map[string]any{"left": {}})
	reg.token = canary
	packageJSON, lock := reg.lock(t)
	config := "registry=" + reg.url + "\n" + strings.TrimPrefix(reg.url, "http:") + "/:_authToken=" + canary + "\n"
	steps := planned(t, files{
		"context.toa.yaml":                          "name: shop\nregistry: {platforms: [linux/amd64], build: {image: scratch}}\ncompositions: [{name: edge, components: [orders]}]\n",
		"components/orders/manifest.toa.yaml":       "name: orders\n",
		"components/orders/operations/add.js":       "add",
		"components/orders/package.json":            packageJSON,
		"components/orders/package-lock.json":       strings.ReplaceAll(lock, "https://registry.npmjs.org", reg.url),
		"components/orders/.npmrc":                  config,
		"components/orders/operations/deep/.npmrc":  config,
		"components/orders/operations/deep/read.js": "read",
	})
	if len(steps) != 2 {
		t.Fatalf("%d steps, want a dependencies image and what stands on it", len(steps))
	}
	b, dir, _ := npmBench(t)
	lower := b.build(t, steps[0])
	upper := b.build(t, steps[1], result(steps[0].ID, steps[0].Reference, lower.Digest(), lower))
	exported := filepath.Join(dir, "exported")
	if err := images.WriteContexts(t.Context(), exported, steps); err != nil {
		t.Fatal(err)
	}

	seen := listing(t, exported)
	for _, layer := range manifestOf(t, b, upper.Digest()).Layers {
		path, err := b.blobs.Path(layer.Digest.String())
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range regularFiles(gunzip(t, path)) {
			seen += name + content
		}
	}
	for _, want := range []string{"composition/default-orders/operations/deep/read.js", "composition/default-orders/node_modules/left/index.js"} {
		if !strings.Contains(seen, want) {
			t.Errorf("no layer has %s", want)
		}
	}
	if strings.Contains(seen, canary) {
		t.Error("the token is in a layer or in a build context")
	}
}

// What an engine says is told without what .npmrc keeps secret.
func TestRedactorKnowsNPMConfig(t *testing.T) {
	const config = "registry=https://npm.test\n_auth = \"canary-one\"\n//npm.test/:_authToken=canary-two\n//npm.test/:_password=canary-three=\n//npm.test/:username=visible\n"
	s := dependencies(t, `{}`, `{"packages":{}}`, "")
	files{".npmrc": config}.write(t, s.Sources[0].Dir)
	s.Recipe.Installs[0].Config = digestOf(config)
	content, err := images.ContextOf(s)
	if err != nil {
		t.Fatal(err)
	}
	got := content.Redactor().Replace("canary-one canary-two canary-three= visible https://npm.test")
	same(t, "output", got, "*** *** *** visible https://npm.test")
}
