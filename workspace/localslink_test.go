package workspace_test

import (
	"encoding/json"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"toa.io/toa/workspace"
)

// npm links to a package of the repository where a plain range allows that, and
// asks a registry where it does not.
func TestPackagesOfTheRepositoryByVersion(t *testing.T) {
	const root = `{"workspaces": ["libs/*", "components/*"]}`
	shared := []workspace.Local{{Name: "shared", Path: "libs/shared"}}
	for _, row := range []struct {
		name, root, packageJSON string
		want                    []workspace.Local
		notice                  string
	}{
		{"any", root, `{"dependencies": {"shared": "*", "left-pad": "1"}}`, shared, ""},
		{"a range", root, `{"dependencies": {"shared": "^1.2.0"}}`, shared, ""},
		{"optional", root, `{"optionalDependencies": {"shared": "1.x || 2.x"}}`, shared, ""},
		{"a peer", root, `{"peerDependencies": {"shared": ">=1 <2"}}`, shared, ""},
		{"a peer that it can do without", root, `{"peerDependencies": {"shared": "*"}, "peerDependenciesMeta": {"shared": {"optional": true}}}`, nil, ""},
		{"for development", root, `{"devDependencies": {"shared": "*"}}`, nil, ""},
		{"of another one", root, `{"dependencies": {"near": "1"}}`, []workspace.Local{{Name: "near", Path: "libs/near"}, {Name: "shared", Path: "libs/shared"}}, ""},
		{"of a component", root, `{"dependencies": {"users": "*"}}`, []workspace.Local{{Name: "users", Path: "components/users"}}, ""},
		{"itself", root, `{"name": "orders", "dependencies": {"orders": "*"}}`, nil, ""},
		{"too new", root, `{"dependencies": {"shared": "^2.0.0"}}`, nil, `dependency "shared" ("^2.0.0"): "libs/shared" has version "1.2.3", so npm takes one of that name from a registry`},
		{"a tag", root, `{"dependencies": {"shared": "latest"}}`, nil, `dependency "shared" ("latest"): "libs/shared" has version "1.2.3", so`},
		{"without a version", root, `{"dependencies": {"bare": ">=0"}}`, nil, `"libs/bare" states no version, so npm`},
		{"said to be elsewhere", root, `{"dependencies": {"shared": "npm:shared@^1.0.0", "near": "https://example.com/near.tgz"}}`, nil, ""},
		{"a component that is not listed", `{"workspaces": ["libs/*"]}`, `{"dependencies": {"shared": "*"}}`, nil, `npm takes one of that name from a registry and not "libs/shared", for the repository does not list "components/store.orders"`},
		{"no repository", `{}`, `{"dependencies": {"shared": "*"}}`, nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			fsys := files(
				packagePath, row.packageJSON, "package.json", row.root,
				"components/users/manifest.toa.yaml", "name: users\n", "components/users/package.json", `{"name": "users", "version": "1.0.0"}`,
				"libs/shared/package.json", `{"name": "shared", "version": "1.2.3"}`, "libs/bare/package.json", `{"name": "bare"}`,
				"libs/near/package.json", `{"name": "near", "version": "1.0.0", "dependencies": {"shared": "1"}}`,
			)
			memo := newMemory()
			for range 2 {
				w, err := workspace.Load(fsys, "", memo)
				if err != nil {
					t.Fatal(err)
				}
				assertNotice(t, w, row.notice)
				if got := w.Components[1].Locals; len(got)+len(row.want) > 0 && !reflect.DeepEqual(got, row.want) {
					t.Errorf("Locals: got %+v, want %+v", got, row.want)
				}
			}
		})
	}
}

func assertNotice(t *testing.T, w *workspace.Workspace, want string) {
	t.Helper()
	said := func(n workspace.Notice) bool { return strings.Contains(n.Text, want) }
	if want == "" && len(w.Notices) > 0 || want != "" && !slices.ContainsFunc(w.Notices, said) {
		t.Errorf("Notices: got %+v, want %q", w.Notices, want)
	}
}

// The nearest repository that lists a component is its own.
func TestRepositoryInsideOfAnother(t *testing.T) {
	w, err := workspace.Load(files(
		packagePath, `{"dependencies": {"shared": "*"}}`,
		"package.json", `{"workspaces": ["outer"]}`, "outer/package.json", `{"name": "shared", "version": "1.0.0"}`,
		"components/package.json", `{"workspaces": ["*", "!store.*", "**/inner", "store.orders"]}`, "components/store.orders/inner/package.json", `{"name": "shared", "version": "2.0.0"}`,
		"components/package-lock.json", `{"packages": {"store.orders": {"dependencies": {"shared": "*"}}, "node_modules/shared": {"resolved": "store.orders/inner", "link": true}}}`,
	), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	c := w.Components[0]
	if want := []workspace.Local{{Name: "shared", Path: "components/store.orders/inner"}}; !reflect.DeepEqual(c.Locals, want) {
		t.Errorf("Locals: got %+v, want %+v", c.Locals, want)
	}
	if c.Lock != "package-lock.json" || c.Shared == nil || c.Shared.Path != "components/package-lock.json" || c.Shared.Member != "store.orders" {
		t.Errorf("Shared: got %+v of %q", c.Shared, c.Lock)
	}
}

func TestLockfileOfTheRepository(t *testing.T) {
	const known = `{"packages": {"components/store.orders": {"dependencies": {"plugin": "1"}}, "node_modules/plugin": {"dependencies": {"core": "1"}}, "node_modules/core": {"resolved": "libs/core", "link": true}}}`
	for _, row := range []struct{ name, file, lock, own, notice, err string }{
		{name: "known", file: "package-lock.json", lock: known},
		{name: "shrinkwrap", file: "npm-shrinkwrap.json", lock: known},
		{name: "its own", file: "package-lock.json", lock: known, own: "{}"},
		{name: "unknown", file: "package-lock.json", lock: `{"packages": {"": {}}}`, notice: "it does not know of \"components/store.orders\", whose packages are not locked therefore: run `npm install` in \".\""},
		{name: "old", file: "package-lock.json", lock: `{"dependencies": {}}`, notice: "it does not know of"},
		{name: "broken", file: "package-lock.json", lock: "{", err: "package-lock.json:1:1: not JSON: unexpected end of JSON input"},
		{name: "a directory that is not there", file: "package-lock.json", lock: strings.Replace(known, "libs/core", "libs/gone", 1), err: `package-lock.json: dependency "core": expected a package in "libs/gone", found nothing there`},
		{name: "outside", file: "package-lock.json", lock: strings.Replace(known, "libs/core", "../core", 1), err: `package-lock.json: dependency "core": expected a package in "../core"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			pairs := []string{
				packagePath, `{"dependencies": {"plugin": "1"}}`, "package.json", `{"workspaces": ["components/*", "libs/*"]}`, row.file, row.lock,
				"libs/core/package.json", `{"name": "core", "version": "1.0.0"}`,
			}
			if row.own != "" {
				pairs = append(pairs, "components/store.orders/package-lock.json", row.own)
			}
			memo := newMemory()
			for range 2 {
				w, err := workspace.Load(files(pairs...), "", memo)
				if row.err != "" {
					if failed := errorsOf(err); len(failed) != 1 || !strings.HasPrefix(failed[0].Error(), row.err) {
						t.Errorf("Load: got %v, want %s", err, row.err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				assertNotice(t, w, row.notice)
				assertShared(t, w.Components[0], row.file, row.notice == "" && row.own == "")
			}
		})
	}
}

// assertShared checks that a component follows the repository's lockfile, or
// does not.
func assertShared(t *testing.T, c *workspace.Component, file string, follows bool) {
	t.Helper()
	if !follows {
		if c.Shared != nil || len(c.Locals) > 0 {
			t.Errorf("Shared: got %+v and %+v, want none", c.Shared, c.Locals)
		}
		return
	}
	if c.Shared == nil || c.Lock != file || c.Shared.Path != file || c.Shared.Member != c.Dir || !strings.HasPrefix(c.Shared.Digest, "part sha256:") {
		t.Errorf("Shared: got %+v of %q", c.Shared, c.Lock)
	}
	if want := []workspace.Local{{Name: "core", Path: "libs/core"}}; !reflect.DeepEqual(c.Locals, want) {
		t.Errorf("Locals: got %+v, want %+v: a package of a registry depends on it", c.Locals, want)
	}
}

func TestSatisfies(t *testing.T) {
	for _, row := range []struct {
		version, spec string
		want          bool
	}{
		{"1.2.3", "", true},
		{"1.2.3", " * ", true},
		{"", "*", true},
		{"", ">=0", false},
		{"1.2.3-rc.1", "*", true},
		{"1.2.3-rc.1", "^1.2.0", false},
		{"1.2.3-rc.1", "^1.2.3-rc.0", true},
		{"1.2.4-rc.1", "^1.2.3-rc.0", false},
		{"1.2.3-rc.1", "^11.2.3-rc.0 || 1.2.3-rc.1", true},
		{"1.2.3", ">=1,<2", false},
		{"1.2.3", "!=1.0.0", false},
		{"1.2.3", "latest", false},
		{"nonsense", "^1", false},
	} {
		if got := workspace.Satisfies(row.version, row.spec); got != row.want {
			t.Errorf("Satisfies(%q, %q) = %t", row.version, row.spec, got)
		}
	}
}

// npm's own library is asked about versions and ranges of all kinds.
func TestSatisfiesAsNPMDoes(t *testing.T) {
	const ask = `
const root = require('child_process').execFileSync('npm', ['root', '--global']).toString().trim()
const semver = require(root + '/npm/node_modules/semver')
const rows = JSON.parse(require('fs').readFileSync(0))
console.log(JSON.stringify(rows.map(([version, spec]) => ['', '*'].includes(spec) || semver.satisfies(version, spec, true))))`
	var rows [][2]string
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			rows = append(rows, [2]string{version().Draw(t, "version"), spec().Draw(t, "spec")})
		}
	})
	in, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	node := exec.CommandContext(t.Context(), "node", "-e", ask)
	node.Stdin = strings.NewReader(string(in))
	out, err := node.Output()
	if err != nil {
		t.Skipf("npm's own library is not there to be asked: %v", err)
	}
	var answers []bool
	if err := json.Unmarshal(out, &answers); err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		if got := workspace.Satisfies(row[0], row[1]); got != answers[i] {
			t.Errorf("Satisfies(%q, %q) = %t, and npm says %t", row[0], row[1], got, answers[i])
		}
	}
}

func version() *rapid.Generator[string] {
	return rapid.StringMatching(`[0-2]\.[0-2]\.[0-2](-(rc|beta)\.[0-2])?`)
}

func spec() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "*", "x", "latest", "1 || 2", "1.0.0 - 2.0.0", "1.0 - 2"}),
		rapid.StringMatching(`(\^|~|>|>=|<|<=|=|v)?[0-2](\.[0-2](\.[0-2](-(rc|beta)\.[0-2])?)?)?`),
		rapid.StringMatching(`(\^|~|>=)?[0-2](\.[0-2])?\.[x*]`),
		rapid.StringMatching(`>=?[0-2]\.[0-2]\.[0-2](-rc\.[0-2])? <=?[0-2]\.[0-2]\.[0-2]( \|\| \^[0-2]\.[0-2]\.[0-2])?`),
	)
}
