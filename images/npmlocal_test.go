package images_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// with adds packages of the workspace to a step's install, as a plan does.
func with(t *testing.T, s orchestrator.Step, packages map[string]files) orchestrator.Step {
	t.Helper()
	one, source := &s.Recipe.Installs[0], &s.Sources[0]
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		dir := packages[name].write(t, t.TempDir())
		listed := tree(t, dir)
		one.Locals = append(one.Locals, templates.Local{Name: name, Digest: listed.Key.String()})
		source.Locals = append(source.Locals, orchestrator.Local{Path: dir, Tree: listed})
	}
	return s
}

// Packages of the workspace, and those that they depend on, are installed as if
// a registry had them, whoever names them how, and whether there is a lockfile.
func TestPackagesOfTheWorkspace(t *testing.T) {
	t.Parallel()
	realNPM(t)
	reg := newNPMRegistry(t, map[string]map[string]any{"left": {}})
	left := `{"version":"1.0.0","resolved":"` + reg.url + `/left/-/left-1.0.0.tgz","integrity":"` + reg.packages["left"].integrity + `"}`
	shared := files{
		"package.json": `{"name":"@acme/shared","version":"1.2.3-rc.1","bin":"run.js","dependencies":{"far":"file:../far","left":"1.0.0"},"devDependencies":{"tool":"workspace:*"}}`,
		"run.js":       "x:#!/usr/bin/env node\n", "dist/index.js": "1",
		"package-lock.json": `{"lockfileVersion":3,"packages":{"node_modules/left":` + left + `,"node_modules/far":{"resolved":"../far","link":true},"node_modules/tool":{"dev":true,"version":"1.0.0"}}}`,
	}
	far := files{"package.json": `{"dependencies":{"@acme/shared":"workspace:^"}}`}
	want := []string{
		".bin/shared", "@acme/shared/dist/index.js", "@acme/shared/package.json", "@acme/shared/run.js", "far/package.json",
	}
	for _, row := range []struct{ name, packageJSON, lock, left string }{
		{
			"locked by npm", `{"name":"orders","dependencies":{"@acme/shared":"file:../../libs/shared"},"devDependencies":{"tool":"file:../tool"}}`,
			`{"name":"orders","lockfileVersion":3,"requires":true,"packages":{
				"":{"name":"orders","dependencies":{"@acme/shared":"file:../../libs/shared"},"devDependencies":{"tool":"file:../tool"}},
				"../tool":{"dev":true},"node_modules/tool":{"resolved":"../tool","link":true},
				"../../libs/shared":{"name":"@acme/shared","version":"1.0.0","dependencies":{"gone":"1"}},
				"node_modules/@acme/shared":{"resolved":"../../libs/shared","link":true}}}`,
			"@acme/shared/node_modules/left/",
		},
		{
			"below the link", `{"name":"orders","dependencies":{"@acme/shared":"file:../../libs/shared"}}`,
			`{"name":"orders","lockfileVersion":3,"requires":true,"packages":{
				"":{"name":"orders","dependencies":{"@acme/shared":"file:../../libs/shared"}},
				"../../libs/shared":{},"../../libs/shared/node_modules/left":` + left + `,"../../libs/shared/node_modules/tool":{"dev":true},
				"node_modules/@acme/shared":{"resolved":"../../libs/shared","link":true}}}`,
			"@acme/shared/node_modules/left/",
		},
		{"no lockfile", `{"name":"orders","dependencies":{"@acme/shared":"workspace:*"},"devDependencies":{"tool":"workspace:*"}}`, "", "left/"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, dir, _ := npmBench(t)
			s := with(t, dependencies(t, row.packageJSON, row.lock, reg.url), map[string]files{"@acme/shared": shared, "far": far})
			got := installed(t, b, b.build(t, s), 0)
			all := append(slices.Clone(want), row.left+"index.js", row.left+"package.json")
			slices.Sort(all)
			same(t, "files", names(got), all)
			same(t, "program", got["@acme/shared/run.js"], "x:#!/usr/bin/env node\n")
			tmpIsEmpty(t, dir)
		})
	}
}

func TestArchivesOfTheWorkspace(t *testing.T) {
	t.Parallel()
	realNPM(t)
	archive := string(npmArchive(t, map[string]any{"name": "packed", "version": "1.0.0"}))
	packageJSON := `{"name":"orders","dependencies":{"packed":"file:vendor/packed.tgz"}}`
	lock := `{"name":"orders","lockfileVersion":3,"requires":true,"packages":{
		"":{"name":"orders","dependencies":{"packed":"file:vendor/packed.tgz"}},
		"node_modules/packed":{"version":"1.0.0","resolved":"file:vendor/packed.tgz"}}}`
	for name, lock := range map[string]string{"locked": lock, "no lockfile": ""} {
		t.Run(name, func(t *testing.T) {
			b, dir, _ := npmBench(t)
			s := dependencies(t, packageJSON, lock, "http://127.0.0.1:1")
			at := filepath.Join(files{"packed.tgz": archive}.write(t, t.TempDir()), "packed.tgz")
			s.Recipe.Installs[0].Locals = []templates.Local{{Name: "packed", Digest: cache.Digest([]byte(archive)).String()}}
			s.Sources[0].Locals = []orchestrator.Local{{Path: at}}
			same(t, "files", names(installed(t, b, b.build(t, s), 0)), []string{"packed/index.js", "packed/package.json"})
			tmpIsEmpty(t, dir)

			if err := os.WriteFile(at, []byte(archive+" "), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := b.native.Build(t.Context(), s, nil)
			var changed *cache.ChangedError
			if !errors.As(err, &changed) || !strings.Contains(err.Error(), "packed") {
				t.Errorf("Build after the archive changed: got %v, want a ChangedError", err)
			}
		})
	}
}

// An engine gets what npm gets here, byte for byte.
func TestContextHasPackagesOfTheWorkspace(t *testing.T) {
	t.Parallel()
	s := with(t, dependencies(t, `{"dependencies":{"near":"file:../near"}}`, "", ""), map[string]files{"near": {"package.json": `{"name":"near"}`}})
	content, err := images.ContextOf(s)
	if err != nil {
		t.Fatal(err)
	}
	got := files{}
	for _, file := range content.Parts[0].Tree.Files() {
		got[file.Path] = string(file.Content)
	}
	same(t, "paths", slices.Sorted(maps.Keys(got)), []string{".packages/near.tar", "package.json"})
	same(t, "package.json", got["package.json"], `{"dependencies":{"near":"file:.packages/near.tar"}}`)
	if !strings.Contains(got[".packages/near.tar"], `{"name":"near","version":"0.0.0"}`) {
		t.Errorf("archive: %q", got[".packages/near.tar"])
	}
}

func TestPackagesOfTheWorkspaceThatCannotBeInstalled(t *testing.T) {
	t.Parallel()
	manifest := `{"dependencies":{"near":"file:../near"}}`
	lock := `{"lockfileVersion":3,"packages":{"":{},"../near":{},"node_modules/near":{"resolved":"../near","link":true}}}`
	for _, row := range []struct {
		name, lock string
		near       files
		want, hint string
	}{
		{"unlocked", lock, files{"package.json": `{"dependencies":{"left":"1","b":"1"}}`}, "no lockfile says which b package near gets", "run npm install in the directory of near"},
		{"own lockfile too old", lock, files{"package.json": `{"dependencies":{"left":"1"}}`, "package-lock.json": "{}"}, "which left", "commit the lockfile"},
		{"own lockfile broken", lock, files{"package.json": `{"dependencies":{"left":"1"}}`, "package-lock.json": "{"}, "read package near", ""},
		{"two of a name", `{"packages":{"node_modules/near":{"version":"1.0.0"}}}`, files{"package.json": "{}"}, "package near of the workspace and one", "another name"},
		{"a link", "", files{"package.json": "{}", "data": "->package.json"}, `data" to "package.json"`, ".toaignore"},
		{"none of the workspace's", "", files{"package.json": `{"dependencies":{"far":"file:../far"}}`}, "far (file:../far) is on this machine only", "publish"},
		{"no JSON", "", files{"package.json": "["}, "read package near", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, dir, _ := npmBench(t)
			b.native.NPM = "no-such-npm"
			_, err := b.native.Build(t.Context(), with(t, dependencies(t, manifest, row.lock, ""), map[string]files{"near": row.near}), nil)
			if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "store.orders") {
				t.Fatalf("Build: got %v, want %q of store.orders", err, row.want)
			}
			var hinted interface{ Hint() string }
			if row.hint != "" && (!errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), row.hint)) {
				t.Errorf("Build: %v has no hint with %q", err, row.hint)
			}
			tmpIsEmpty(t, dir)
		})
	}
}

// One name at the top cannot be two packages: what the one needs from a
// registry, another one needs from the workspace.
func TestTwoPackagesOfOneName(t *testing.T) {
	t.Parallel()
	s := with(t, dependencies(t, `{"dependencies":{"near":"*","far":"^2.0.0"}}`, "", ""), map[string]files{
		"near": {"package.json": `{"version":"1.0.0","dependencies":{"far":"^1.0.0"}}`}, "far": {"package.json": `{"version":"1.0.0"}`},
	})
	_, err := images.ContextOf(s)
	var two *images.TwoPackagesError
	if !errors.As(err, &two) || two.Name != "far" {
		t.Errorf("ContextOf: got %v, want a TwoPackagesError of far", err)
	}
}

// Names become paths.
func TestNameOfAPackageThatLeaves(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../../near", "/near", "."} {
		b, dir, _ := npmBench(t)
		s := with(t, dependencies(t, "{}", "", ""), map[string]files{name: {"package.json": "{}"}})
		if _, err := b.native.Build(t.Context(), s, nil); err == nil || !strings.Contains(err.Error(), "no package has that name") {
			t.Errorf("Build with %q: %v", name, err)
		}
		tmpIsEmpty(t, dir)
	}
}

// An installed package, of which a service's image is made, has none beside it.
func TestLocalDependencyOfAPackage(t *testing.T) {
	t.Parallel()
	b, _, _ := npmBench(t)
	b.native.NPM = "no-such-npm"
	_, err := b.native.Build(t.Context(), dependencies(t, `{"dependencies":{"near":"link:../near"}}`, "", ""), nil)
	var local *images.LocalDependencyError
	if !errors.As(err, &local) || local.Dependency != "near (link:../near)" {
		t.Errorf("Build: got %v, want a LocalDependencyError", err)
	}
}
