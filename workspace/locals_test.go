package workspace_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"toa.io/toa/workspace"
)

// repository is a workspace with packages beside its components.
func repository(pairs ...string) fstest.MapFS {
	return files(append([]string{
		"libs/shared/package.json", `{"name": "@acme/shared", "dependencies": {"far": "workspace:*", "left-pad": "1"}, "devDependencies": {"tool": "file:../gone"}}`,
		"libs/deep/er/far/package.json", `{"name": "far", "optionalDependencies": {"@acme/shared": "link:../../../shared"}, "peerDependencies": {"packed": "./packed.tgz"}}`,
		"libs/deep/er/far/packed.tgz", "packed",
		"libs/hidden/package.json", `{"name": "hidden"}`,
		"libs/node_modules/far/package.json", `{"name": "far"}`,
	}, pairs...)...)
}

var all = []workspace.Local{
	{Name: "@acme/shared", Path: "libs/shared"},
	{Name: "far", Path: "libs/deep/er/far"},
	{Name: "packed", Path: "libs/deep/er/far/packed.tgz", Archive: true},
}

func TestPackagesOfTheWorkspace(t *testing.T) {
	const members = `{"workspaces": ["libs/**", "!libs/hidden"]}`
	for _, row := range []struct {
		name  string
		pairs []string
		want  []workspace.Local
	}{
		{"none", []string{packagePath, `{"dependencies": {"left-pad": "1.0.0"}}`}, nil},
		{"for development", []string{packagePath, `{"dependencies": {"left-pad": "1.0.0"}, "devDependencies": {"far": "file:../gone"}}`}, nil},
		{"file", []string{packagePath, `{"dependencies": {"@acme/shared": "file:../../libs/shared"}}`, "package.json", members}, all},
		{"by name", []string{packagePath, `{"dependencies": {"far": "workspace:^"}}`, "package.json", members}, all},
		{"by another name", []string{packagePath, `{"dependencies": {"mine": "workspace:hidden@*"}}`, "package.json", `{"workspaces": {"packages": ["./libs/*/"]}}`}, []workspace.Local{{Name: "mine", Path: "libs/hidden"}}},
		{"of a scope", []string{packagePath, `{"dependencies": {"@acme/mine": "workspace:@acme/shared@^1"}}`, "package.json", members}, append([]workspace.Local{{Name: "@acme/mine", Path: "libs/shared"}}, all...)},
		{"pnpm", []string{packagePath, `{"dependencies": {"@acme/shared": "workspace:1.x"}}`, "pnpm-workspace.yaml", "packages:\n  - 'libs/**'\n  - '!**/hidden'\ncatalog: {a: 1}\n"}, all},
		{"by path", []string{packagePath, `{"dependencies": {"hidden": "workspace:../../libs/hidden"}}`}, []workspace.Local{{Name: "hidden", Path: "libs/hidden"}}},
		{"inside", []string{packagePath, `{"dependencies": {"near": "./lib/near"}}`, "components/store.orders/lib/near/package.json", "{}"}, []workspace.Local{{Name: "near", Path: "components/store.orders/lib/near"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			fsys := repository(row.pairs...)
			memo := newMemory()
			for range 2 {
				w, err := workspace.Load(fsys, "", memo)
				if err != nil {
					t.Fatal(err)
				}
				if got := w.Components[0].Locals; len(got)+len(row.want) > 0 && !reflect.DeepEqual(got, row.want) {
					t.Errorf("Locals: got %+v, want %+v", got, row.want)
				}
			}
		})
	}
}

func TestPackagesThatTheWorkspaceLacks(t *testing.T) {
	const place = packagePath + ":2:20: dependency \"near\": expected "
	for _, row := range []struct{ name, spec, want, hint string }{
		{"outside", "file:../../../near", place + `a directory or an archive of the workspace, found "file:../../../near", which leaves it`, "publish it to a registry"},
		{"absolute", "file:/srv/near", place + "a directory or an archive of the workspace", "move the package"},
		{"of a home", "~/near", place + "a directory or an archive of the workspace", "move the package"},
		{"itself", "file:.", place + `a package beside this one, found "file:."`, "directory of its own"},
		{"above", "link:..", place + "a package beside this one", "directory of its own"},
		{"nothing", "portal:../../libs/near", place + `a package in "libs/near", found nothing there`, "publish the package"},
		{"no package", "file:../../libs", place + `a package in "libs", found no package.json there`, "give it a package.json"},
		{"not JSON", "file:../../broken", "broken/package.json:1:1: not JSON", ""},
		{"not listed", "workspace:*", place + `a package of the repository that is called "near", found none`, "`workspaces` of package.json"},
		{"another of its name", "file:../../twins/a", `twins/a/package.json:1:40: dependency "near": expected one package of that name for component store.orders, found "libs/hidden" and "twins/a"`, "rename one"},
		{"twice", "workspace:twice@*", place + `one package that is called "twice", found it in "twins/a" and "twins/b"`, "rename one"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := workspace.Load(repository(
				packagePath, "{\n  \"dependencies\": {\"near\": \""+row.spec+"\"}\n}\n",
				"package.json", `{"workspaces": ["libs/*", "twins/*"]}`,
				"broken/package.json", "{", "twins/a/package.json", `{"name": "twice", "dependencies": {    "near": "file:../../libs/hidden"}}`, "twins/b/package.json", `{"name": "twice"}`,
			), "", nil)
			failed := errorsOf(err)
			if len(failed) != 1 || !strings.HasPrefix(failed[0].Error(), row.want) || !strings.Contains(failed[0].Hint(), row.hint) {
				t.Errorf("Load: got %v, want %s", err, row.want)
			}
		})
	}
}

func TestNamesThatNoPackageHas(t *testing.T) {
	for _, name := range []string{"../near", "a/b", "@a", "@a/../b", "", ".near", "a b", "a\\n"} {
		_, err := workspace.Load(repository(packagePath, `{"dependencies": {"`+name+`": "file:../../libs/hidden"}}`), "", nil)
		if failed := errorsOf(err); len(failed) != 1 || !strings.Contains(failed[0].Msg, "expected a name that a package can have") {
			t.Errorf("Load with %q: got %v", name, err)
		}
	}
}

// What is wrong with a package is said once, whoever depends on it.
func TestMistakeOfASharedPackageIsSaidOnce(t *testing.T) {
	_, err := workspace.Load(files(
		packagePath, `{"dependencies": {"shared": "file:../../shared"}}`,
		"components/users/manifest.toa.yaml", "name: users\n", "components/users/package.json", `{"dependencies": {"shared": "file:../../shared"}}`,
		"shared/package.json", `{"dependencies": {"gone": "file:../gone"}}`,
	), "", nil)
	if failed := errorsOf(err); len(failed) != 1 || failed[0].Position.File != "shared/package.json" {
		t.Errorf("Load: got %v, want one error of shared/package.json", err)
	}
}

func errorsOf(err error) []*workspace.Error {
	var all *workspace.Errors
	if !errors.As(err, &all) {
		return nil
	}
	return all.List
}
