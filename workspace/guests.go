package workspace

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"toa.io/toa/document"
)

// componentsDirectory is where packages keep the components that they bring.
const componentsDirectory = "components"

// invite finds those members of compositions that packages bring: their code is
// in the package, so it has to be installed. What is found is a component like
// others, but for its Bringer.
func (l *loading) invite(file *contextFile) {
	byID := l.byID()
	var packages []string
	for _, d := range file.compositions {
		for _, m := range d.members {
			if byID[m.id] != nil || slices.Contains(file.context.Evicted.Components, m.id) {
				continue
			}
			if packages == nil {
				packages = l.packages(file)
			}
			if c := l.guest(m.id, packages); c != nil {
				byID[m.id] = c
			}
		}
	}
	slices.SortFunc(l.found, func(a, b *Component) int { return strings.Compare(a.ID, b.ID) })
}

// guest reads a component out of a package, or returns nil if none has it.
func (l *loading) guest(id string, packages []string) *Component {
	bringer, dir := l.lodging(id, packages)
	if dir == "" {
		return nil
	}
	read := l.source.component(dir, l.moduleOf(path.Dir(dir)))
	l.errors = append(l.errors, read.errors...)
	c := read.component
	switch {
	case c == nil:
		l.unnamed = true
		return nil
	case c.ID != id:
		l.errors = append(l.errors, &Error{
			Position: c.Position,
			Msg:      "expected component " + document.Quote(id) + " in this directory of package " + bringer + ", found " + document.Quote(c.ID),
		})
		l.unnamed = true
		return nil
	}
	c.Bringer = bringer
	l.found, l.near[c] = append(l.found, c), read.near
	return c
}

// lodging is the package that has a component, and the directory of that.
func (l *loading) lodging(id string, packages []string) (bringer, dir string) {
	for _, name := range packages {
		dir := path.Join(packageDirectory(name), componentsDirectory, id)
		if _, err := fs.Stat(l.fsys, path.Join(dir, ManifestFile)); err == nil {
			return name, dir
		}
	}
	return "", ""
}

// packages are those that the context and the components name, sorted, and
// those that bring components by themselves.
func (l *loading) packages(file *contextFile) []string {
	var all []string
	for _, a := range file.context.Annotations {
		all = append(all, a.Package)
	}
	for _, d := range file.compositions {
		all = append(all, d.services...)
	}
	for _, c := range l.found {
		all = append(append(all, c.Uses...), c.Storage)
		for _, e := range c.Extensions {
			all = append(all, e.Package)
		}
	}
	for reference := range shipped {
		all = append(all, reference)
	}
	for i, reference := range all {
		all[i], _, _ = strings.Cut(reference, "#")
	}
	return slices.DeleteFunc(distinct(all), func(name string) bool { return name == "" })
}

// packageDirectory is where npm has installed a package, or where a path leads.
func packageDirectory(name string) string {
	if isPath(name) {
		return path.Clean(name)
	}
	return path.Join("node_modules", name)
}

// moduleOf is the module type that a directory passes on to what is below it.
func (l *loading) moduleOf(dir string) string {
	above := &modules{source: &l.source, known: map[string]string{}}
	module := above.of(dir)
	l.errors = append(l.errors, above.errors...)
	return module
}

// brought tells whether a package brings the component, be it installed or not.
func (l *loading) brought(id string, file *contextFile) bool {
	if shipper(id) != "" {
		return true
	}
	_, dir := l.lodging(id, l.packages(file))
	return dir != ""
}

// ReadComponent reads the manifest and the directories of a component that a
// package brings. What is wrong comes as *Errors.
func ReadComponent(fsys fs.FS, dir string) (*Component, error) {
	read := (&source{fsys: fsys}).component(dir, moduleCommon)
	failure := &Errors{List: read.errors}
	if len(failure.List) > 0 {
		failure.Sort()
		return nil, failure
	}
	one := &Workspace{Components: []*Component{read.component}}
	return read.component, one.Discover(fsys)
}

// Together leaves the compositions aside, as a unit of everything does: what
// packages bring then runs in their services only.
func (w *Workspace) Together() {
	w.Components = slices.DeleteFunc(w.Components, func(c *Component) bool { return c.Bringer != "" })
}
