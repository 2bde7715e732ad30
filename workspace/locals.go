package workspace

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/internal/lazyregexp"
)

// Local is a package of the workspace that is installed where a component
// depends on it, as one of a registry would be.
type Local struct {
	// Name is what it is installed as.
	Name string
	// Path is its directory or archive: a slash path below the root.
	Path string
	// Archive says that it is packed already.
	Archive bool
}

// link finds the packages of the workspace that components depend on.
func (l *loading) link() {
	k := &linking{loading: l, seen: map[string]*Local{}, repositories: map[string]*repository{}}
	for _, c := range l.found {
		if len(l.near[c]) > 0 {
			c.Locals = k.closure(c)
		}
	}
	k.share()
	k.unlock()
}

// linking remembers what was found for all components: what is wrong with a
// package of the workspace is said once.
type linking struct {
	*loading
	// seen are dependencies by the directory that states them and their names;
	// nil for one that was reported.
	seen map[string]*Local
	// repositories are what was read of directories that may list packages.
	repositories map[string]*repository
}

// closure are the local packages that a component depends on, and those that
// they depend on: all are installed side by side, so each has its own name.
func (k *linking) closure(c *Component) []Local {
	found := map[string]*Local{}
	k.collect(c, path.Join(c.Dir, packageName), k.near[c], found)
	locals := make([]Local, 0, len(found))
	for _, one := range found {
		locals = append(locals, *one)
	}
	slices.SortFunc(locals, compareLocals)
	return locals
}

func compareLocals(a, b Local) int { return strings.Compare(a.Name, b.Name) }

func (k *linking) collect(c *Component, file string, stated []dependency, found map[string]*Local) {
	for _, d := range stated {
		one := k.resolve(file, d)
		if one == nil {
			continue
		}
		if other := found[d.name]; other != nil {
			if other.Path != one.Path {
				k.fail(file, d, "rename one of them", "one package of that name for component "+c.ID+", found "+document.Quote(one.Path)+" and "+document.Quote(other.Path))
			}
			continue
		}
		found[d.name] = one
		if one.Archive {
			continue
		}
		if facts := k.facts(one.Path); facts != nil {
			k.collect(c, path.Join(one.Path, packageName), facts.near, found)
		}
	}
}

func (k *linking) facts(dir string) *packageFile {
	return k.source.npm(newReader(path.Join(dir, packageName)))
}

// resolve finds the package that a package.json depends on.
func (k *linking) resolve(file string, d dependency) *Local {
	key := file + "\x00" + d.name
	if one, known := k.seen[key]; known {
		return one
	}
	k.seen[key] = nil
	if !IsLocal(d.spec) {
		k.seen[key] = k.linked(file, d)
	} else if !installable.MatchString(d.name) {
		k.fail(file, d, "", "a name that a package can have") // it becomes a path
	} else if where, ok := k.place(file, d); ok {
		k.seen[key] = k.look(file, d, where)
	}
	return k.seen[key]
}

var installable = lazyregexp.New(`^(@[A-Za-z0-9~_-][A-Za-z0-9._~-]*/)?[A-Za-z0-9~_-][A-Za-z0-9._~-]*$`)

// place is where a dependency says that its package is.
func (k *linking) place(file string, d dependency) (where string, ok bool) {
	name, byName := d.wanted()
	if byName {
		return k.byName(file, d, name)
	}
	dir := path.Dir(file)
	where = path.Join(dir, name)
	switch {
	case path.IsAbs(name), strings.HasPrefix(name, "~/"), !fs.ValidPath(where):
		k.fail(file, d, leavesFix, "a directory or an archive of the workspace, found "+document.Quote(d.spec)+", which leaves it")
	case where == ".", where == dir, strings.HasPrefix(dir, where+"/"):
		k.fail(file, d, "move the package into a directory of its own", "a package beside this one, found "+document.Quote(d.spec)+", which holds this one")
	default:
		return where, true
	}
	return "", false
}

const leavesFix = "move the package below the directory of " + ContextFile + ", or publish it to a registry and state its version"

// look sees what is at a place.
func (k *linking) look(file string, d dependency, where string) *Local {
	info, err := fs.Stat(k.fsys, where)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		k.fail(file, d, "make it, or publish the package to a registry and state its version", "a package in "+document.Quote(where)+", found nothing there")
	case err != nil:
		k.fail(file, d, leavesFix, "a package in "+document.Quote(where)+" that can be read: "+err.Error())
	case info.Mode().IsRegular():
		return &Local{Name: d.name, Path: where, Archive: true}
	case !info.IsDir():
		k.fail(file, d, leavesFix, "a directory or an archive, found "+describeMode(info.Mode()))
	default:
		return k.directory(file, d, where)
	}
	return nil
}

func (k *linking) directory(file string, d dependency, where string) *Local {
	r := newReader(path.Join(where, packageName))
	if k.source.npm(r) != nil {
		return &Local{Name: d.name, Path: where}
	}
	if len(r.Errors()) > 0 {
		k.errors = append(k.errors, r.Errors()...)
		return nil
	}
	k.fail(file, d, "give it a package.json", "a package in "+document.Quote(where)+", found no package.json there")
	return nil
}

// fail reports what is wrong with a dependency, where it is stated.
func (k *linking) fail(file string, d dependency, fix, expected string) {
	one := &Error{
		Position: Position{File: file, Line: d.at.Line, Column: d.at.Column},
		Msg:      "dependency " + document.Quote(d.name) + ": expected " + expected,
		Fix:      fix,
	}
	same := func(e *Error) bool { return *e == *one }
	if !slices.ContainsFunc(k.errors, same) {
		k.errors = append(k.errors, one)
	}
}

// byName finds the one package of the repository that has a name.
func (k *linking) byName(file string, d dependency, name string) (where string, ok bool) {
	repository := k.repositoryOf(path.Dir(file))
	if repository == nil {
		repository = k.repositoryAt(".")
	}
	switch dirs := repository.byName[name]; len(dirs) {
	case 0:
		k.fail(file, d, "list its directory in `workspaces` of package.json, or in `packages` of "+pnpmFile+", at the root of the workspace",
			"a package of the repository that is called "+document.Quote(name)+", found none")
	case 1:
		return dirs[0], true
	default:
		k.twice(file, d, name, dirs)
	}
	return "", false
}

func (k *linking) twice(file string, d dependency, name string, dirs []string) {
	k.fail(file, d, "rename one of them", "one package that is called "+document.Quote(name)+", found it in "+document.Quote(dirs[0])+" and "+document.Quote(dirs[1]))
}
