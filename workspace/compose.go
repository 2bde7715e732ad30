package workspace

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"toa.io/toa/document"
)

// compose makes the declared compositions and one for each component that is
// in none of them. Evicted components are in none.
func (l *loading) compose(file *contextFile) []*Composition {
	r := newReader(ContextFile)
	byID := l.byID()
	listed := make(map[*Component]bool, len(l.found))
	var compositions []*Composition
	for _, d := range file.compositions {
		members, complete := l.members(r, d, byID, file.context.Evicted.Components)
		for _, one := range members {
			listed[one] = true
		}
		c := r.compose(d, slices.DeleteFunc(members, func(c *Component) bool { return c.Evicted }), file)
		if complete && len(c.Components) > 0 {
			r.agree(c, &file.context)
		}
		if len(c.Components) > 0 {
			compositions = append(compositions, c)
		}
	}
	l.errors = append(l.errors, r.Errors()...)
	return append(compositions, l.derived(listed, &file.context)...)
}

// compose is the composition of what is left of the members.
func (r *reader) compose(d declared, members []*Component, file *contextFile) *Composition {
	return &Composition{
		Name: d.name, Slug: strings.ToLower(d.name), Components: members, Image: d.image,
		Replicas: d.replicas, Resources: d.resources, Position: r.Position(d.at),
		Services: without(d.services, file.context.Evicted.Services),
	}
}

func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

func (l *loading) byID() map[string]*Component {
	byID := make(map[string]*Component, len(l.found))
	for _, c := range l.found {
		byID[c.ID] = c
	}
	return byID
}

// evict marks components that run nowhere.
func (l *loading) evict(file *contextFile) {
	if len(file.evicted) == 0 {
		return
	}
	r := newReader(ContextFile)
	byID := l.byID()
	for _, m := range file.evicted {
		if c := byID[m.id]; c != nil {
			c.Evicted = true
		} else if !l.unnamed && !l.brought(m.id, file) {
			r.Fail(m.at, l.memberFix(m.id, len(r.Errors())), "evicted.components: expected a component, found %s, which does not exist", document.Quote(m.id))
		}
	}
	l.errors = append(l.errors, r.Errors()...)
}

// members are those of a composition that are there; complete tells whether
// none is missing. Evicted ones that packages bring need not be there.
func (l *loading) members(r *reader, d declared, byID map[string]*Component, evicted []string) (members []*Component, complete bool) {
	complete = true
	for _, m := range d.members {
		if c := byID[m.id]; c != nil {
			members = append(members, c)
		} else if !slices.Contains(evicted, m.id) {
			complete = false
			l.missing(r, d, m)
		}
	}
	return members, complete
}

// missing reports a member that is not there, unless something could not be
// read: that may be the one.
func (l *loading) missing(r *reader, d declared, m member) {
	switch bringer := shipper(m.id); {
	case l.unnamed:
	case bringer != "":
		r.Fail(m.at, "run `npm install "+bringer+"` at the workspace root, or leave the component to the service of that package",
			"composition %s: component %s is in package %s, which is not installed, and the image is made of it",
			document.Quote(d.name), document.Quote(m.id), bringer)
	default:
		r.Fail(m.at, l.memberFix(m.id, len(r.Errors())), "composition %s: expected a component, found %s, which does not exist", document.Quote(d.name), document.Quote(m.id))
	}
}

// memberFix compares with all components, which is too much to do for
// thousands of mistakes.
func (l *loading) memberFix(id string, mistakes int) string {
	const enough = 100
	if mistakes > enough {
		return ""
	}
	var ids []string
	for _, c := range l.found {
		ids = append(ids, c.ID)
	}
	for _, reference := range slices.Sorted(maps.Keys(shipped)) {
		ids = append(ids, shipped[reference]...)
	}
	return document.Suggest(id, ids)
}

// agree resolves the base image of a composition: its own, else the one that
// all members state, else the context's, else the runtime.
func (r *reader) agree(c *Composition, x *Context) {
	if c.Image != "" {
		return
	}
	var images []string
	for _, one := range c.Components {
		if !slices.Contains(images, one.Build.Image) {
			images = append(images, one.Build.Image)
		}
	}
	if len(images) > 1 {
		r.Fail(document.Place{Line: c.Position.Line, Column: c.Position.Column}, "state `image` of the composition",
			"composition %s: expected members with one base image, found %s", document.Quote(c.Name), strings.Join(stated(images), " and "))
		return
	}
	c.Image = cmp.Or(strings.Join(images, ""), contextImage(x))
}

func contextImage(x *Context) string {
	return cmp.Or(x.Registry.Build.Image, runtimeImage+":"+x.Runtime.Version)
}

func stated(images []string) []string {
	list := make([]string, len(images))
	for i, image := range images {
		list[i] = "none"
		if image != "" {
			list[i] = document.Quote(image)
		}
	}
	slices.Sort(list)
	return list
}

// derived makes the compositions of components that no other lists, by name.
func (l *loading) derived(listed map[*Component]bool, x *Context) []*Composition {
	var compositions []*Composition
	for _, c := range l.found {
		if !listed[c] && !c.Evicted && c.Bringer == "" {
			compositions = append(compositions, l.derive(c, x))
		}
	}
	slices.SortFunc(compositions, func(a, b *Composition) int { return strings.Compare(a.Name, b.Name) })
	return compositions
}

// derive makes the composition of a component that is in no other. Its name
// has a hyphen and thus never is that of a declared one.
func (l *loading) derive(c *Component, x *Context) *Composition {
	if len(c.Label) > maxSlug && len(c.Label) <= maxLabel {
		l.errors = append(l.errors, &Error{
			Position: c.Position,
			Msg: "component " + document.Quote(c.ID) + ": expected a label of 40 characters at most to name a composition after it, found " +
				document.Quote(c.Label),
			Fix: "list it in a composition of " + ContextFile + ", or shorten its name",
		})
	}
	return &Composition{
		Name: c.Label, Slug: c.Label, Components: []*Component{c}, Derived: true,
		Image:    cmp.Or(c.Build.Image, contextImage(x)),
		Replicas: defaultReplicas, Position: c.Position,
	}
}
