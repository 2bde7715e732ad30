package workspace

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"toa.io/toa/document"
)

// standardOnly is what most components inherit from.
var standardOnly = []string{StandardPrototype}

// lineage follows the prototypes of a component, each of which may have one.
type lineage struct {
	*source
	*reader // of the component: it reports what leads nowhere
	file    *manifestFile
	// at is where the component states its prototype.
	at document.Place
	// home is the directory that paths must not leave: that of the component, or
	// of the package that the last prototype is in.
	home   string
	errors []*Error // in manifests of prototypes
}

// inherit adds what the prototypes of a component declare. It returns mistakes
// in their manifests; the others go to the reader.
func (s *source) inherit(r *reader, file *manifestFile) []*Error {
	c := &file.component
	switch c.Prototype {
	case "":
		return nil
	case StandardPrototype:
		c.Prototypes = standardOnly
		return nil
	}
	l := &lineage{source: s, reader: r, file: file, at: file.prototypeAt, home: c.Dir}
	l.follow(c.Prototype, c.Dir)
	return l.errors
}

// follow reads the prototype that a manifest in a directory refers to, adds
// what it declares, and goes on with its own.
func (l *lineage) follow(reference, from string) {
	c := &l.file.component
	if reference == StandardPrototype {
		c.Prototypes = append(c.Prototypes, reference)
		return
	}
	dir := l.find(reference, from)
	if dir == "" {
		return // reported
	}
	if slices.Contains(append(c.Prototypes, c.Dir), dir) {
		trail := strings.Join(append(slices.Clone(c.Prototypes), dir), " → ")
		l.Fail(l.at, "let one of them have no prototype", "prototype: expected an end, found a circle: %s", document.Printable(c.Dir+" → "+trail))
		return
	}
	c.Prototypes = append(c.Prototypes, dir)
	r := newReader(path.Join(dir, ManifestFile))
	parent := l.source.manifest(dir, r, prototypeSchema)
	l.errors = append(l.errors, r.Errors()...)
	if parent == nil {
		return
	}
	l.file.inherit(parent)
	if next := parent.component.Prototype; next != "" {
		l.follow(next, dir)
	}
}

// find is the directory of a prototype, or empty if it was reported that there
// is none.
func (l *lineage) find(reference, from string) string {
	if isPath(reference) {
		return l.besides(path.Clean(reference))
	}
	for place := from; ; place = path.Dir(place) {
		dir := path.Join(place, packageDirectory(reference))
		if _, err := fs.Stat(l.fsys, path.Join(dir, ManifestFile)); err == nil {
			l.home = dir
			return dir
		}
		if place == "." {
			l.Fail(l.at, "run `npm install "+reference+"` at the workspace root",
				"prototype: expected an installed package that has a %s, found %s", ManifestFile, document.Quote(reference))
			return ""
		}
	}
}

// besides is a directory that is named by a path. What is neither in the
// component nor in a package is no use to images, though one may develop with it.
func (l *lineage) besides(dir string) string {
	switch {
	case !fs.ValidPath(dir):
		l.Fail(l.at, "", "prototype: expected a path inside the workspace, found %s", document.Quote(dir))
		return ""
	case l.file.component.stray == nil && !strings.HasPrefix(dir, l.home+"/") && dir != l.home:
		l.file.component.stray = &Error{
			Position: l.Position(l.at),
			Msg: "component " + document.Quote(l.file.component.ID) + ": expected its prototype in a package or inside the component, found " +
				document.Quote(dir) + ", which gets into no image",
			Fix: "make a package of it that the component depends on, or move it into the component",
		}
	}
	return dir
}

// Carried tells whether images can hold all that their components are made of.
// What they cannot hold comes as *Errors.
func (w *Workspace) Carried() error {
	failure := &Errors{}
	for _, c := range w.Components {
		if c.stray != nil && !c.Evicted {
			failure.List = append(failure.List, c.stray)
		}
	}
	if len(failure.List) == 0 {
		return nil
	}
	failure.Sort()
	return failure
}

// inherit adds what a prototype declares and the component does not. Receivers,
// guards and bindings are nobody's but the component's, as in the runtime.
func (f *manifestFile) inherit(parent *manifestFile) {
	c, p := &f.component, &parent.component
	c.Operations = distinct(append(c.Operations, p.Operations...))
	c.Events = distinct(append(c.Events, p.Events...))
	for _, one := range p.Uses {
		if !slices.Contains(p.Bindings, one) { // some operation or event states it
			c.Uses = distinct(append(c.Uses, one))
		}
	}
	if p.HasEntity && (!c.HasEntity || parent.storageStated && !f.storageStated) {
		c.HasEntity, c.Storage, f.storageStated = true, p.Storage, parent.storageStated
	}
	for _, declared := range p.Extensions {
		c.declare(declared)
	}
	c.Contract = inheritContract(c.Contract, p.Contract)
}

// declare adds what a prototype says to a package.
func (c *Component) declare(said Declaration) {
	i, known := slices.BinarySearchFunc(c.Extensions, said, func(a, b Declaration) int { return strings.Compare(a.Package, b.Package) })
	if !known {
		c.Extensions = slices.Insert(c.Extensions, i, said)
		return
	}
	own, value, inherited := &c.Extensions[i], c.Extensions[i].Value.Unpack(), said.Value.Unpack()
	switch {
	case inherited.Kind == document.Null:
	case value.Kind == document.Null:
		*own = said
	default:
		own.Value = document.Pack(completed(value, inherited))
	}
}

// completed adds to an object what only another has, at any depth.
func completed(v, other *document.Value) *document.Value {
	if v.Kind != document.Object || other.Kind != document.Object {
		return v
	}
	whole := *v
	whole.Fields = slices.Clone(v.Fields)
	for _, f := range other.Fields {
		if same := whole.Find(f.Key); same != nil {
			same.Value = completed(same.Value, f.Value)
		} else {
			whole.Fields = append(whole.Fields, f)
		}
	}
	return &whole
}

// inheritContract adds to what a component declares what its prototype does.
func inheritContract(own, parent []byte) []byte {
	inherited := &document.Value{Kind: document.Object}
	for _, f := range parsed(parent).Fields {
		if f.Key == "entity" || f.Key == "events" || f.Key == "operations" {
			inherited.Fields = append(inherited.Fields, f)
		}
	}
	return completed(parsed(own), inherited).JSON()
}

// parsed is a contract as a value: it is JSON of ours.
func parsed(contract []byte) *document.Value {
	if v := document.NewReader(ManifestFile).Parse(contract); v != nil {
		return v
	}
	return &document.Value{Kind: document.Object}
}
