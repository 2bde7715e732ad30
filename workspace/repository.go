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

// members are the directories of the repository's packages, by name: those
// that package.json at the root lists for npm, yarn and bun, or pnpm's file.
func (k *linking) members() map[string][]string {
	byName := map[string][]string{}
	for _, dir := range k.memberDirectories() {
		if facts := k.facts(dir); facts != nil && facts.name != "" {
			byName[facts.name] = append(byName[facts.name], dir)
		}
	}
	return byName
}

func (k *linking) memberDirectories() []string {
	patterns := k.pnpmPatterns()
	if facts := k.facts("."); facts != nil {
		patterns = append(patterns, facts.members...)
	}
	var dirs []string
	for _, pattern := range patterns {
		pattern = path.Clean(pattern)
		switch without, excepts := strings.CutPrefix(pattern, "!"); {
		case excepts:
			segments := strings.Split(path.Clean(without), "/")
			dirs = slices.DeleteFunc(dirs, func(dir string) bool { return matchPath(segments, strings.Split(dir, "/")) })
		case strings.Contains(pattern, anyDepth):
			dirs = append(dirs, k.atAnyDepth(pattern)...)
		case fs.ValidPath(pattern):
			found, _ := discover(k.fsys, pattern) // what cannot be read has no package
			dirs = append(dirs, found...)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// pnpmPatterns are those of pnpm's file.
func (k *linking) pnpmPatterns() []string {
	r := newReader(pnpmFile)
	data, err := k.content(pnpmFile, maxManifest)
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
func (k *linking) atAnyDepth(pattern string) []string {
	segments := strings.Split(pattern, "/")
	var dirs []string
	_ = fs.WalkDir(k.fsys, ".", func(at string, entry fs.DirEntry, err error) error {
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
