package workspace

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"toa.io/toa/document"
)

// inherited are events that every component has which keeps a state by the
// standard prototype.
var inherited = []string{"created", "deleted", "sync", "updated"}

// scripts are endings of files that bridges run.
var scripts = []string{".cjs", ".cts", ".js", ".mjs", ".mts", ".sh", ".ts"}

// Discover adds to components what their directories say: operations, events,
// receivers and guards are files of directories of these names, and events come
// with prototypes too. It also checks migrations. Planning images does without:
// this reads a directory for each component. Discovering twice adds nothing.
// What is wrong comes as *Errors.
func (w *Workspace) Discover(fsys fs.FS) error {
	readers := make([]*reader, len(w.Components))
	inParallel(len(w.Components), func(i int) {
		readers[i] = newReader(w.Components[i].Position.File)
		readers[i].sources(fsys, w.Components[i])
	})
	failure := &Errors{Notices: w.Notices}
	for _, r := range readers {
		failure.List = append(failure.List, r.Errors()...)
	}
	if len(failure.List) == 0 {
		return nil
	}
	failure.Sort()
	return failure
}

// sources looks into those directories that the component has.
func (r *reader) sources(fsys fs.FS, c *Component) {
	found := map[string][]string{}
	for _, entry := range r.list(fsys, c.Dir) {
		switch name := entry.Name(); name {
		case "operations", "events", "receivers", "guards":
			found[name] = r.stems(fsys, path.Join(c.Dir, name), scripts)
		case "migrations":
			r.migrations(fsys, c)
		}
	}
	for _, dir := range c.Prototypes {
		if dir != StandardPrototype {
			found["operations"] = append(found["operations"], r.stems(fsys, path.Join(dir, "operations"), scripts)...)
			found["events"] = append(found["events"], r.stems(fsys, path.Join(dir, "events"), scripts)...)
		}
	}
	c.Operations = distinct(append(c.Operations, found["operations"]...))
	c.Guards = distinct(append(c.Guards, found["guards"]...))
	c.Events = distinct(append(c.Events, found["events"]...))
	if c.HasEntity && slices.Contains(c.Prototypes, StandardPrototype) {
		c.Events = distinct(append(c.Events, inherited...))
	}
	c.receive(found["receivers"])
}

// receive adds receivers of files, unless the manifest says where their events
// come from.
func (c *Component) receive(labels []string) {
	for _, label := range labels {
		stated := func(r Receiver) bool { return r.Event == label || r.Event == completeEvent(label) }
		if !slices.ContainsFunc(c.Receivers, stated) {
			c.Receivers = append(c.Receivers, receiver(label, ""))
		}
	}
	slices.SortFunc(c.Receivers, Receiver.compare)
}

// migrations are named by their order and belong to an entity.
func (r *reader) migrations(fsys fs.FS, c *Component) {
	dir := path.Join(c.Dir, "migrations")
	names := r.stems(fsys, dir, []string{".json", ".yaml", ".yml"})
	if len(names) > 0 && !c.HasEntity {
		r.Report(&Error{
			Position: Position{File: dir},
			Msg:      "component " + document.Quote(c.ID) + " has migrations and no entity, expected both or neither",
			Fix:      "declare the entity in the manifest, or remove the directory",
		})
	}
	slices.Sort(names)
	twice := map[string]bool{}
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			twice[names[i]] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(twice)) {
		r.Report(&Error{
			Position: Position{File: dir},
			Msg:      "several migrations are named " + document.Quote(name) + ", expected names of their own",
			Fix:      "keep one of them",
		})
	}
}

// stems are the names of files with one of the endings, without it. Tests and
// declarations of types are not meant.
func (r *reader) stems(fsys fs.FS, dir string, endings []string) []string {
	var names []string
	for _, entry := range r.list(fsys, dir) {
		name := entry.Name()
		ending := path.Ext(name)
		stem := strings.TrimSuffix(name, ending)
		if entry.IsDir() || stem == "" || !slices.Contains(endings, ending) || aside(stem) {
			continue
		}
		if document.OneWord.Expects(stem) != "" || !document.Harmless(stem) {
			r.Report(&Error{
				Position: Position{File: path.Join(dir, name)},
				Msg:      "the name of the file has spaces or control characters, expected a name without",
				Fix:      "rename the file",
			})
			continue
		}
		names = append(names, stem)
	}
	return names
}

// aside tells whether a file lies beside sources without being one.
func aside(stem string) bool {
	switch path.Ext(stem) {
	case ".test", ".spec", ".d":
		return true
	}
	return strings.HasPrefix(stem, ".")
}

// list reads a directory; what is no directory has nothing.
func (r *reader) list(fsys fs.FS, dir string) []fs.DirEntry {
	entries, err := fs.ReadDir(fsys, dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return entries
	}
	if info, wrong := fs.Stat(fsys, dir); wrong == nil && !info.IsDir() {
		return nil
	}
	other := newReader(dir)
	other.unreachable(err, "")
	for _, one := range other.Errors() {
		r.Report(one)
	}
	return nil
}
