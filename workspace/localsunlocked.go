package workspace

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"

	"toa.io/toa/document"
)

// foreignManagers install packages too, each with a lockfile of its own.
var foreignManagers = []string{"pnpm", "yarn", "bun"}

var foreignLocks = []string{"pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"}

// unlock sees to components whose packages no lockfile of npm's locks.
func (k *linking) unlock() {
	told := map[string]bool{}
	for _, c := range k.found {
		if c.HasDependencies && c.Lock == "" {
			c.Lacks = k.lacking(c)
			k.warnForeign(c, told)
		}
	}
}

// lacking is the file without which a component's packages are not locked. A
// lockfile without a package.json beside it is nobody's.
func (k *linking) lacking(c *Component) string {
	if repository := k.repositoryOf(c.Dir); repository != nil && repository.npm {
		return path.Join(repository.dir, cmp.Or(k.lockfile(repository.dir), usualLock))
	}
	for dir := c.Dir; dir != "."; {
		dir = path.Dir(dir)
		if k.facts(dir) == nil && k.lockfile(dir) != "" {
			return path.Join(dir, packageName)
		}
	}
	return path.Join(c.Dir, usualLock)
}

// usualLock is the lockfile that npm writes where there is none.
const usualLock = "package-lock.json"

// warnForeign tells of the lockfile of another package manager: npm installs the
// packages, and does as if it were not there. Directories that were looked at
// are in told, true for those that were mentioned.
func (k *linking) warnForeign(c *Component, told map[string]bool) {
	dirs := []string{c.Dir}
	if repository := k.repositoryOf(c.Dir); repository != nil {
		dirs = append(dirs, repository.dir)
	}
	for _, dir := range dirs {
		if _, looked := told[dir]; !looked {
			told[dir] = k.foreign(dir)
		}
		if told[dir] {
			return
		}
	}
}

// foreign tells whether a directory is another package manager's, and mentions
// where that is said.
func (k *linking) foreign(dir string) bool {
	for _, name := range foreignLocks {
		if info, err := fs.Stat(k.fsys, path.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			k.mention(path.Join(dir, name), []mention{{text: name + " is not read: " + k.unlocked(dir)}})
			return true
		}
	}
	facts := k.facts(dir)
	if facts == nil || facts.manager.name == "" {
		return false
	}
	k.mention(path.Join(dir, packageName), []mention{{
		text: "packageManager " + document.Quote(facts.manager.name) + " has no effect: " + k.unlocked(dir), at: facts.manager.at,
	}})
	return true
}

// unlocked is what becomes of packages without a lockfile of npm's, and how to
// mend it.
func (k *linking) unlocked(dir string) string {
	text := "npm installs the packages, and finds no " + usualLock + ", so each build takes what the registry has by then: run `npm install --package-lock-only` in " +
		document.Quote(dir) + ", and commit " + usualLock
	if repository := k.repositoryAt(dir); len(repository.members) > 0 && !repository.npm {
		text += "; npm wants the packages of " + pnpmFile + " as `workspaces` of package.json, and ranges instead of `workspace:`"
	}
	return text
}

// foreignManager is the package manager that a package.json asks for, and where
// it does, unless that is npm.
type foreignManager struct {
	name string // with its version
	at   document.Place
}

// findManager reads what the text of a package.json states as packageManager.
func findManager(text []byte, stated json.RawMessage) (found foreignManager) {
	_ = json.Unmarshal(stated, &found.name) // what is no text asks for nobody
	if name, _, _ := strings.Cut(found.name, "@"); !slices.Contains(foreignManagers, name) {
		return foreignManager{}
	}
	found.at = keyPlace(text, "packageManager")
	return found
}
