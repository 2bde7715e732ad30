package workspace

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"toa.io/toa/document"
)

// complete fills in what is so unless it is stated.
func (c *Component) complete() {
	if len(c.Bindings) == 0 {
		c.Bindings = []string{packageAMQP}
	}
	c.Uses = distinct(append(c.Uses, c.Bindings...))
	c.Operations, c.Events, c.Guards = distinct(c.Operations), distinct(c.Events), distinct(c.Guards)
	slices.SortFunc(c.Receivers, Receiver.compare)
	c.Bridge = cmp.Or(c.Bridge, packageNode)
	if c.HasEntity {
		c.Storage = cmp.Or(c.Storage, packageMongoDB)
		c.Prototype = cmp.Or(c.Prototype, StandardPrototype)
	}
	if c.Prototype == none {
		c.Prototype = ""
	}
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

func (a Receiver) compare(b Receiver) int {
	return cmp.Or(strings.Compare(a.Event, b.Event), strings.Compare(a.Source, b.Source))
}

// nothing is what an extension is told that a manifest does not name.
var nothing = document.Pack(&document.Value{Kind: document.Null})

// extend lists what the manifest declares for packages, and the predefined ones.
func (c *Component) extend(said []Annotation) {
	for _, one := range said {
		c.Extensions = append(c.Extensions, Declaration{Package: one.Package, Value: document.Pack(one.Value), Position: one.Position})
	}
	for _, name := range predefined {
		if !slices.ContainsFunc(said, func(a Annotation) bool { return a.Package == name }) {
			c.Extensions = append(c.Extensions, Declaration{Package: name, Value: nothing, Position: c.Position})
		}
	}
	slices.SortFunc(c.Extensions, func(a, b Declaration) int { return strings.Compare(a.Package, b.Package) })
}

// settle says where the component is: what it says of files is relative to
// that, and memos do not know it.
func (c *Component) settle(dir, file string) {
	c.Dir, c.Position.File = dir, file
	for i := range c.Extensions {
		one := &c.Extensions[i]
		one.Position.File = file
		one.Package = below(dir, one.Package)
	}
	c.Storage, c.Prototype, c.Bridge = below(dir, c.Storage), below(dir, c.Prototype), below(dir, c.Bridge)
	for i := range c.Bindings {
		c.Bindings[i] = below(dir, c.Bindings[i])
	}
	for i := range c.Uses {
		c.Uses[i] = below(dir, c.Uses[i])
	}
}

// below makes a path that starts at dir one that starts at the root.
func below(dir, reference string) string {
	if !isPath(reference) {
		return reference
	}
	return "./" + path.Join(dir, reference)
}
