package workspace

import (
	"cmp"
	"slices"
	"strings"
)

// compose makes the declared compositions and one for each component that is
// in none of them.
func (l *loading) compose(file *contextFile) []*Composition {
	r := &reader{file: ContextFile}
	byID := make(map[string]*Component, len(l.found))
	for _, c := range l.found {
		byID[c.ID] = c
	}
	listed := make(map[*Component]bool, len(l.found))
	var compositions []*Composition
	for _, d := range file.compositions {
		c := &Composition{
			Name: d.name, Slug: strings.ToLower(d.name), Image: d.image,
			Replicas: d.replicas, Position: r.position(d.at),
		}
		c.Components = l.members(r, d, byID)
		for _, one := range c.Components {
			listed[one] = true
		}
		if len(c.Components) == len(d.members) {
			r.agree(c, &file.context)
		}
		compositions = append(compositions, c)
	}
	l.errors = append(l.errors, r.errors...)
	return append(compositions, l.derived(listed, &file.context)...)
}

func (l *loading) members(r *reader, d declaration, byID map[string]*Component) []*Component {
	var members []*Component
	for _, m := range d.members {
		if c := byID[m.id]; c != nil {
			members = append(members, c)
		} else if !l.unnamed { // what could not be read may be the one
			r.fail(m.at, l.memberFix(m.id, len(r.errors)), "composition %s: expected a component, found %s, which does not exist", quote(d.name), quote(m.id))
		}
	}
	return members
}

// memberFix compares with all components, which is too much to do for
// thousands of mistakes.
func (l *loading) memberFix(id string, mistakes int) string {
	const enough = 100
	if mistakes > enough {
		return ""
	}
	ids := make([]string, len(l.found))
	for i, c := range l.found {
		ids[i] = c.ID
	}
	if near := nearest(id, ids); near != "" {
		return "did you mean " + quote(near) + "?"
	}
	return ""
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
		r.fail(place{c.Position.Line, c.Position.Column}, "state `image` of the composition",
			"composition %s: expected members with one base image, found %s", quote(c.Name), strings.Join(stated(images), " and "))
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
			list[i] = quote(image)
		}
	}
	slices.Sort(list)
	return list
}

// derived makes the compositions of components that no other lists, by name.
func (l *loading) derived(listed map[*Component]bool, x *Context) []*Composition {
	var compositions []*Composition
	for _, c := range l.found {
		if !listed[c] {
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
			Msg: "component " + quote(c.ID) + ": expected a label of 40 characters at most to name a composition after it, found " +
				quote(c.Label),
			Fix: "list it in a composition of " + ContextFile + ", or shorten its name",
		})
	}
	return &Composition{
		Name: c.Label, Slug: c.Label, Components: []*Component{c}, Derived: true,
		Image:    cmp.Or(c.Build.Image, contextImage(x)),
		Replicas: defaultReplicas, Position: c.Position,
	}
}
