package workspace_test

import (
	"fmt"
	"strings"
	"testing"

	"toa.io/toa/workspace"
)

// npm reads no other lockfile than its own: where there is another one, it is
// said that packages are not locked, and how to mend that.
func TestLockfilesOfOtherPackageManagers(t *testing.T) {
	const (
		dependent = `{"dependencies": {"left-pad": "1"}}`
		managed   = "{\n  \"packageManager\": \"pnpm@9.1.0+sha512.abc\",\n  \"dependencies\": {\"left-pad\": \"1\"}\n}"
		members   = `{"workspaces": ["components/*"]}`
		here      = "run `npm install --package-lock-only` in \"components/store.orders\", and commit package-lock.json"
		above     = "run `npm install --package-lock-only` in \".\", and commit package-lock.json"
		dir       = "components/store.orders/"
	)
	for _, row := range []struct {
		name  string
		pairs []string
		want  []string // what the one notice says, its place first
	}{
		{"pnpm", []string{packagePath, dependent, dir + "pnpm-lock.yaml", ""}, []string{dir + "pnpm-lock.yaml: ", "pnpm-lock.yaml is not read", here}},
		{"yarn", []string{packagePath, dependent, dir + "yarn.lock", ""}, []string{dir + "yarn.lock: ", "yarn.lock is not read", here}},
		{"bun", []string{packagePath, dependent, dir + "bun.lockb", ""}, []string{dir + "bun.lockb: ", here}},
		{"packageManager", []string{packagePath, managed}, []string{packagePath + ":2:3: ", `packageManager "pnpm@9.1.0+sha512.abc" has no effect`, here}},
		{"both", []string{packagePath, managed, dir + "pnpm-lock.yaml", ""}, []string{dir + "pnpm-lock.yaml: "}},
		{"of a repository", []string{packagePath, dependent, "package.json", members, "yarn.lock", ""}, []string{"yarn.lock: ", above}},
		{"manager of a repository", []string{packagePath, dependent, "package.json", `{"packageManager": "yarn", "workspaces": ["components/*"]}`}, []string{"package.json:1:2: ", above}},
		{"repository of pnpm", []string{packagePath, dependent, "pnpm-workspace.yaml", "packages: ['components/*']", "pnpm-lock.yaml", ""}, []string{"pnpm-lock.yaml: ", above, "wants the packages of pnpm-workspace.yaml as `workspaces` of package.json"}},
		{"of others", []string{packagePath, dependent, "yarn.lock", ""}, nil},
		{"npm", []string{packagePath, `{"packageManager": "npm@11.0.0", "dependencies": {"left-pad": "1"}}`}, nil},
		{"no text", []string{packagePath, `{"packageManager": {"yarn": 1}, "dependencies": {"left-pad": "1"}}`}, nil},
		{"npm's lockfile is there", []string{packagePath, managed, dir + "pnpm-lock.yaml", "", dir + "package-lock.json", "{}"}, nil},
		{"npm's lockfile of the repository", []string{packagePath, managed, "package.json", members, "yarn.lock", "", "package-lock.json", `{"packages": {"components/store.orders": {}}}`}, nil},
		{"nothing to install", []string{packagePath, `{"devDependencies": {"left-pad": "1"}}`, dir + "yarn.lock", ""}, nil},
		{"a directory of that name", []string{packagePath, dependent, dir + "yarn.lock/file", ""}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			fsys, memo := files(row.pairs...), newMemory()
			for range 2 {
				w, err := workspace.Load(fsys, "", memo)
				if err != nil {
					t.Fatal(err)
				}
				sayOnce(t, w.Notices, row.want)
			}
		})
	}
}

// sayOnce checks that there is one notice that says it all, at one place; or none.
func sayOnce(t *testing.T, notices []workspace.Notice, want []string) {
	t.Helper()
	if len(want) == 0 && len(notices) == 0 {
		return
	}
	if len(want) == 0 || len(notices) != 1 || len(notices[0].Positions) != 1 {
		t.Fatalf("Notices: got %+v, want one that says %q", notices, want)
	}
	got := fmt.Sprintf("%s: %s", notices[0].Positions[0], notices[0].Text)
	for i, text := range want {
		if !strings.Contains(got, text) || i == 0 && !strings.HasPrefix(got, text) {
			t.Errorf("Notices: got %s\nwant in it %s", got, text)
		}
	}
}

// Whoever shares a repository's lockfile, its notice is one.
func TestLockfileOfAnotherManagerIsMentionedOnce(t *testing.T) {
	w, err := workspace.Load(files(
		packagePath, `{"dependencies": {"left-pad": "1"}}`,
		"components/users/manifest.toa.yaml", "name: users\n", "components/users/package.json", `{"dependencies": {"left-pad": "1"}}`,
		"package.json", `{"workspaces": ["components/*"]}`, "yarn.lock", "",
	), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	sayOnce(t, w.Notices, []string{"yarn.lock: "})
}

// The file that would lock a component's packages is named, wherever it belongs.
func TestLockfileThatIsLacking(t *testing.T) {
	const (
		members = `{"workspaces": ["components/*"]}`
		lock    = `{"packages": {"components/store.orders": {}}}`
	)
	for _, row := range []struct {
		name  string
		pairs []string
		want  string
	}{
		{"its own", nil, "components/store.orders/package-lock.json"},
		{"that of the repository", []string{"package.json", members}, "package-lock.json"},
		{"of a repository below the root", []string{"components/package.json", `{"workspaces": ["*"]}`}, "components/package-lock.json"},
		{"what does not know of it", []string{"package.json", members, "npm-shrinkwrap.json", `{"packages": {}}`}, "npm-shrinkwrap.json"},
		{"package.json beside the lockfile", []string{"package-lock.json", lock}, "package.json"},
		{"of a repository that does not list it", []string{"package.json", `{}`, "package-lock.json", lock}, "components/store.orders/package-lock.json"},
		{"of pnpm's repository", []string{"pnpm-workspace.yaml", "packages: ['components/*']"}, "components/store.orders/package-lock.json"},
		{"nothing", []string{"package.json", members, "package-lock.json", lock}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			w, err := workspace.Load(files(append(row.pairs, packagePath, `{"dependencies": {"left-pad": "1"}}`)...), "", nil)
			if err != nil {
				t.Fatal(err)
			}
			if c := w.Components[0]; c.Lacks != row.want || (c.Lacks == "") != (c.Lock != "") {
				t.Errorf("Lacks: got %q (and Lock %q), want %q", c.Lacks, c.Lock, row.want)
			}
		})
	}
}
