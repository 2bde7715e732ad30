package images_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/workspace"
)

// member is the step of a component that has no lockfile, in a repository that
// has one; what the repository holds besides is in files.
func member(t *testing.T, packageJSON, lock string, besides files) (s orchestrator.Step, repository string) {
	t.Helper()
	s = dependencies(t, packageJSON, "", "")
	repository = files{"package-lock.json": lock}.write(t, t.TempDir())
	besides.write(t, repository)
	read, err := workspace.ReadRepositoryLock([]byte(lock))
	if err != nil {
		t.Fatal(err)
	}
	install := &s.Recipe.Installs[0]
	install.LockName, install.Lock = "package-lock.json", read.Part("orders").Digest()
	if config, ok := besides[".npmrc"]; ok {
		install.Config = cache.Digest([]byte(config)).String()
	}
	s.Sources[0].Shared = &orchestrator.SharedLock{Path: filepath.Join(repository, "package-lock.json"), Member: "orders"}
	return s, repository
}

const repositoryLock = `{"lockfileVersion":3,"packages":{
	"orders":{"dependencies":{"near":"*","left":"1"},"devDependencies":{"tool":"1"}},
	"near":{"dependencies":{"left":"2"}},"node_modules/near":{"resolved":"near","link":true},
	"orders/node_modules/left":{"version":"1.0.0"},"node_modules/left":{"version":"2.0.0"},"node_modules/tool":{"version":"1.0.0","dev":true}}}`

// npm gets what the component reaches, wherever it runs: an engine gets the same.
func TestPartOfTheRepositorysLockfile(t *testing.T) {
	t.Parallel()
	s, _ := member(t, `{"dependencies":{"near":"*","left":"1"},"devDependencies":{"tool":"1"}}`, repositoryLock, files{".npmrc": "registry=http://127.0.0.1:1\n"})
	s = with(t, s, map[string]files{"near": {"package.json": `{"name":"near","version":"1.0.0","dependencies":{"left":"2"}}`}})
	content, err := images.ContextOf(s)
	if err != nil {
		t.Fatal(err)
	}
	got := files{}
	for _, file := range content.Parts[0].Tree.Files() {
		got[file.Path] = string(file.Content)
	}
	same(t, "package.json", got["package.json"], `{"dependencies":{"left":"1","near":"file:.packages/near.tar"}}`)
	same(t, "lockfile", got["package-lock.json"], `{"lockfileVersion":3,"packages":{`+
		`"":{"dependencies":{"left":"1","near":"file:.packages/near.tar"}},`+
		`"node_modules/left":{"version":"1.0.0"},`+
		`"node_modules/near":{"dependencies":{"left":"2"},"resolved":"file:.packages/near.tar","version":"1.0.0"},`+
		`"node_modules/near/node_modules/left":{"version":"2.0.0"}},"requires":true}`)
	same(t, "npm's settings", string(content.Secrets[0].Data), "registry=http://127.0.0.1:1\n")
}

// Images of several repositories are made at once, each with its own lockfile.
func TestPartsOfSeveralRepositoriesAtOnce(t *testing.T) {
	t.Parallel()
	var group errgroup.Group
	for i := range 24 {
		version := fmt.Sprintf("1.0.%d", i%3)
		s, _ := member(t, `{"dependencies":{"left":"1"}}`, strings.Replace(repositoryLock, "1.0.0", version, 1), nil)
		group.Go(func() error {
			content, err := images.ContextOf(s)
			if err != nil {
				return err
			}
			for _, file := range content.Parts[0].Tree.Files() {
				if file.Path == "package-lock.json" && strings.Contains(string(file.Content), `{"version":"`+version+`"}`) {
					return nil
				}
			}
			return fmt.Errorf("image %d does not get left@%s", i, version)
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// A component's own settings of npm win, as they always did.
func TestOwnSettingsInARepository(t *testing.T) {
	t.Parallel()
	s, _ := member(t, `{"dependencies":{"left":"1"}}`, repositoryLock, files{".npmrc": "registry=http://127.0.0.1:1\n"})
	files{".npmrc": "own=true\n"}.write(t, s.Sources[0].Dir)
	s.Recipe.Installs[0].Config = cache.Digest([]byte("own=true\n")).String()
	s.Recipe.Installs[0].Locals = nil
	content, err := images.ContextOf(s)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "npm's settings", string(content.Secrets[0].Data), "own=true\n")
}

func TestRepositorysLockfileThatChanged(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, file, content string
		changed             bool
	}{
		{"another version", "package-lock.json", strings.Replace(repositoryLock, "2.0.0", "2.0.1", 1), true},
		{"no part any more", "package-lock.json", `{"packages":{}}`, true},
		{"broken", "package-lock.json", "{", false},
		{"a package of others", "package-lock.json", strings.Replace(repositoryLock, `"node_modules/tool":{"version":"1.0.0"`, `"node_modules/tool":{"version":"1.0.1"`, 1), false},
		{"settings", ".npmrc", "registry=http://127.0.0.1:2\n", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, repository := member(t, `{"dependencies":{"left":"1"}}`, repositoryLock, files{".npmrc": "registry=http://127.0.0.1:1\n"})
			if err := os.WriteFile(filepath.Join(repository, row.file), []byte(row.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := images.ContextOf(s)
			var changed *cache.ChangedError
			if errors.As(err, &changed) != row.changed || (err == nil) != (row.name == "a package of others") {
				t.Errorf("ContextOf: got %v", err)
			}
		})
	}
}

// What to run is said for the repository: the component has no lockfile to mend.
func TestRepositorysLockfileThatIsOld(t *testing.T) {
	t.Parallel()
	s, repository := member(t, `{"dependencies":{"near":"*"}}`, repositoryLock, nil)
	s = with(t, s, map[string]files{"near": {"package.json": `{"name":"near","dependencies":{"left":"2","right":"1"}}`}})
	_, err := images.ContextOf(s)
	var unlocked *images.UnlockedError
	if !errors.As(err, &unlocked) || unlocked.Package != "near" || !strings.Contains(unlocked.Hint(), "run npm install in "+repository) {
		t.Errorf("ContextOf: got %v, want an UnlockedError", err)
	}

	realNPM(t)
	b, _, _ := npmBench(t)
	s, repository = member(t, `{"dependencies":{"left":"1","right":"1"}}`, strings.ReplaceAll(repositoryLock, `"near":"*",`, ""), nil)
	s.Recipe.NPM.Registry = newNPMRegistry(t, map[string]map[string]any{"left": nil, "right": nil}).url
	_, err = b.native.Build(t.Context(), s, nil)
	var failed *images.NPMError
	if !errors.As(err, &failed) || !strings.Contains(failed.Hint(), "run npm install in "+repository) {
		t.Errorf("Build: got %v, want an NPMError that names the repository", err)
	}
}
