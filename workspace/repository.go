package workspace

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// pnpmFile lists the packages of a repository for pnpm.
const pnpmFile = "pnpm-workspace.yaml"

// repository is a directory that lists packages which are developed together.
type repository struct {
	dir string
	// members are the directories of packages, sorted, byName those with a name.
	members []string
	byName  map[string][]string
	// npm says that it is npm that knows of them, by a package.json.
	npm bool
}

// repositoryAt reads what package.json in a directory lists for npm, yarn and
// bun, or pnpm's file. Where neither does the repository has no members.
func (k *linking) repositoryAt(dir string) *repository {
	if known := k.repositories[dir]; known != nil {
		return known
	}
	found := &repository{dir: dir, byName: map[string][]string{}}
	k.repositories[dir] = found
	patterns := k.pnpmPatterns(dir)
	if facts := k.facts(dir); facts != nil && len(facts.members) > 0 {
		patterns, found.npm = append(patterns, facts.members...), true
	}
	if len(patterns) == 0 {
		return found
	}
	found.members = k.memberDirectories(dir, patterns)
	for _, member := range found.members {
		if facts := k.facts(member); facts != nil && facts.name != "" {
			found.byName[facts.name] = append(found.byName[facts.name], member)
		}
	}
	return found
}

// repositoryOf is the nearest one above a directory that lists it, or nil.
func (k *linking) repositoryOf(dir string) *repository {
	for at := dir; at != "."; {
		at = path.Dir(at)
		above := k.repositoryAt(at)
		if _, listed := slices.BinarySearch(above.members, dir); listed {
			return above
		}
	}
	return nil
}

// memberDirectories are those below dir that the patterns list.
func (k *linking) memberDirectories(dir string, patterns []string) []string {
	below, err := fs.Sub(k.fsys, dir)
	if err != nil {
		return nil // as of a directory that cannot be read
	}
	var dirs []string
	for _, pattern := range patterns {
		pattern = path.Clean(pattern)
		switch without, excepts := strings.CutPrefix(pattern, "!"); {
		case excepts:
			segments := strings.Split(path.Clean(without), "/")
			dirs = slices.DeleteFunc(dirs, func(dir string) bool { return matchPath(segments, strings.Split(dir, "/")) })
		case strings.Contains(pattern, anyDepth):
			dirs = append(dirs, atAnyDepth(below, pattern)...)
		case fs.ValidPath(pattern):
			found, _ := discover(below, pattern) // what cannot be read has no package
			dirs = append(dirs, found...)
		}
	}
	for i := range dirs {
		dirs[i] = path.Join(dir, dirs[i])
	}
	return distinct(dirs)
}

// pnpmPatterns are those of pnpm's file.
func (k *linking) pnpmPatterns(dir string) []string {
	r := newReader(path.Join(dir, pnpmFile))
	data, err := k.content(r.File(), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		r.unreachable(err, "")
		k.errors = append(k.errors, r.Errors()...)
		return nil
	}
	var patterns []string
	if root := r.Parse(data); root != nil {
		if packages := root.Find("packages"); packages != nil {
			r.Texts(&patterns).Take(packages.Value)
		}
	}
	k.errors = append(k.errors, r.Errors()...)
	return patterns
}

// workspaces are the globs of a package.json: a list, or an object with one.
func workspaces(raw json.RawMessage) []string {
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	var object struct{ Packages []string }
	_ = json.Unmarshal(raw, &object) // npm's to refuse
	return object.Packages
}

// anyDepth in a glob stands for directories of any number.
const anyDepth = "**"

// atAnyDepth are the directories that match a glob with **. Links are not
// followed, for they may lead in circles.
func atAnyDepth(fsys fs.FS, pattern string) []string {
	segments := strings.Split(pattern, "/")
	var dirs []string
	_ = fs.WalkDir(fsys, ".", func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir // what cannot be read has no package
		case !entry.IsDir():
			return nil
		case at != "." && (entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case matchPath(segments, strings.Split(at, "/")):
			dirs = append(dirs, at)
		}
		return nil
	})
	return dirs
}

// matchPath tells whether a path matches a glob, segment by segment.
func matchPath(pattern, parts []string) bool {
	switch {
	case len(pattern) == 0:
		return len(parts) == 0
	case pattern[0] == anyDepth:
		return matchPath(pattern[1:], parts) || len(parts) > 0 && matchPath(pattern, parts[1:])
	case len(parts) == 0:
		return false
	}
	matched, err := path.Match(pattern[0], parts[0])
	return err == nil && matched && matchPath(pattern[1:], parts[1:])
}
