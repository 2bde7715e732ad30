package images_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/internal/npmtest"
)

// verdaccio is a real registry for npm with a user.
type verdaccio struct{ url, token string }

func newVerdaccio(t *testing.T) *verdaccio {
	t.Helper()
	started := npmtest.Start(t)
	return &verdaccio{url: started.URL, token: started.Token}
}

// config is the .npmrc of who has logged in.
func (v *verdaccio) config() string {
	return fmt.Sprintf("registry=%s\n%s/:_authToken=%s\n", v.url, strings.TrimPrefix(v.url, "http:"), v.token)
}

// npm runs npm as a developer does.
func (v *verdaccio) npm(t *testing.T, dir string, args ...string) {
	t.Helper()
	files{".npmrc": v.config()}.write(t, dir)
	child := exec.CommandContext(t.Context(), "npm", append(args, "--no-audit", "--no-fund", "--cache="+t.TempDir())...)
	child.Dir = dir
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("npm %q: %v: %s", args, err, out)
	}
}

// A component whose packages are private: what npm publishes and locks with a
// real registry is what the image holds, and without the token nothing is.
func TestVerdaccio(t *testing.T) {
	t.Parallel()
	realNPM(t)
	v := newVerdaccio(t)
	b, dir, seen := npmBench(t)
	shared := files{"package.json": `{"name":"@acme/shared","version":"1.2.3","bin":"run.js"}`, "run.js": "x:#!/usr/bin/env node\n"}.write(t, t.TempDir())
	v.npm(t, shared, "publish")
	packageJSON := `{"name":"orders","version":"1.0.0","dependencies":{"@acme/shared":"^1.0.0"}}`
	component := files{"package.json": packageJSON}.write(t, t.TempDir())
	v.npm(t, component, "install")
	lock, err := os.ReadFile(filepath.Join(component, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}

	s := dependencies(t, packageJSON, string(lock), v.url)
	files{".npmrc": v.config()}.write(t, s.Sources[0].Dir)
	s.Recipe.Installs[0].Config = cache.Digest([]byte(v.config())).String()
	got := installed(t, b, b.build(t, s), 0)
	same(t, "files", names(got), []string{".bin/shared", "@acme/shared/package.json", "@acme/shared/run.js"})
	same(t, "program", got["@acme/shared/run.js"], "x:#!/usr/bin/env node\n")
	for name, content := range got {
		if strings.Contains(content, v.token) {
			t.Errorf("the token is in %s", name)
		}
	}
	if strings.Contains(seen.text(), v.token) {
		t.Error("the token is in npm's output")
	}
	tmpIsEmpty(t, dir)

	other := newBench(t, t.TempDir())
	other.native.NPMCache = t.TempDir()
	_, err = other.native.Build(t.Context(), dependencies(t, packageJSON, string(lock), v.url), nil)
	var failed *images.NPMError
	if !errors.As(err, &failed) {
		t.Errorf("Build without the token: got %v, want an NPMError", err)
	}
}

// A package of the workspace that needs one of a private registry gets what its
// own lockfile says, which npm has made; a component without a lockfile gets
// the same from the registry.
func TestVerdaccioAndThePackagesOfTheWorkspace(t *testing.T) {
	t.Parallel()
	realNPM(t)
	v := newVerdaccio(t)
	b, dir, _ := npmBench(t)
	shared := files{"package.json": `{"name":"@acme/shared","version":"1.2.3"}`}.write(t, t.TempDir())
	v.npm(t, shared, "publish")
	near := files{"package.json": `{"name":"near","version":"1.0.0","dependencies":{"@acme/shared":"^1.0.0"}}`}.write(t, t.TempDir())
	v.npm(t, near, "install")
	nearby := files{"package.json": readText(t, near, "package.json"), "package-lock.json": readText(t, near, "package-lock.json")}
	root := files{"orders/package.json": `{"name":"orders","dependencies":{"near":"file:../near"}}`, "near/package.json": nearby["package.json"]}.write(t, t.TempDir())
	v.npm(t, filepath.Join(root, "orders"), "install")
	manifest, lock := readText(t, root, "orders/package.json"), readText(t, root, "orders/package-lock.json")
	for _, row := range []struct{ name, lock, shared string }{
		{"locked", lock, "near/node_modules/@acme/shared/package.json"},
		{"no lockfile", "", "@acme/shared/package.json"},
	} {
		s := with(t, dependencies(t, manifest, row.lock, v.url), map[string]files{"near": nearby})
		files{".npmrc": v.config()}.write(t, s.Sources[0].Dir)
		s.Recipe.Installs[0].Config = cache.Digest([]byte(v.config())).String()
		want := []string{"near/package.json", row.shared}
		slices.Sort(want)
		same(t, row.name, names(installed(t, b, b.build(t, s), 0)), want)
		tmpIsEmpty(t, dir)
	}
}

func readText(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
