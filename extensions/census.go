package extensions

import (
	"io/fs"
	"slices"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/workspace"
)

// census is who is there, and which packages they use.
type census struct {
	packages    fs.FS // nil: none are installed
	annotations map[string]workspace.Annotation
	components  map[string]*Component // by ID
	// connectors and extensions are references of packages that something
	// deployed uses, sorted.
	connectors, extensions []string
	users                  map[string][]Instance // by package, evicted ones too
	// listed are packages whose services compositions run.
	listed map[string]bool
}

// count visits the components, and those that their packages bring, and so on.
// What only evicted ones lead to is evicted itself.
func count(ws *workspace.Workspace, packages fs.FS) *census {
	c := &census{
		packages:    packages,
		annotations: map[string]workspace.Annotation{}, components: map[string]*Component{},
		users: map[string][]Instance{}, listed: map[string]bool{},
	}
	for _, a := range ws.Context.Annotations {
		c.annotations[a.Package] = a
	}
	w := walk{census: c, seen: map[string]bool{}}
	own := adopted(ws, c.annotation(packageConvergence) != nil)
	w.components(own)
	for _, reference := range c.roots(ws) {
		w.visit(reference)
	}
	live := len(w.order)
	w.evicted = true
	w.components(own)
	c.settle(w.order[:live])
	return c
}

// roots are packages that are deployed though no component may use them.
func (c *census) roots(ws *workspace.Workspace) []string {
	var roots []string
	for _, composition := range ws.Compositions {
		for _, reference := range composition.Services {
			c.listed[reference] = true
			roots = append(roots, reference)
		}
	}
	for reference := range c.annotations {
		if table[reference].standalone {
			roots = append(roots, reference)
		}
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

func (c *census) annotation(reference string) *document.Value {
	return c.annotations[reference].Value
}

// walk visits packages, each once, and counts who uses them.
type walk struct {
	*census
	seen    map[string]bool
	order   []string
	evicted bool // what is visited now is
}

func (w *walk) components(all []*Component) {
	for _, c := range all {
		if c.Evicted == w.evicted {
			w.count(c)
		}
	}
}

func (w *walk) count(c *Component) {
	if _, known := w.census.components[c.ID]; known {
		return // the workspace's own goes before one that is brought
	}
	w.census.components[c.ID] = c
	for _, reference := range c.connectors() {
		w.use(reference, Instance{Component: c, Position: c.Position})
	}
	for _, e := range c.Extensions {
		w.use(e.Package, Instance{Component: c, Declaration: e.Value, Position: e.Position})
	}
	for _, reference := range c.packages() {
		w.visit(reference)
	}
}

func (w *walk) use(reference string, i Instance) {
	w.users[reference] = append(w.users[reference], i)
}

func (w *walk) visit(reference string) {
	if w.seen[reference] || reference == packageIntrospection && !w.introspected() {
		return
	}
	w.seen[reference] = true
	w.order = append(w.order, reference)
	for _, c := range brought(reference, w.annotation(reference)) {
		c.Evicted, c.Bringer = w.evicted, table[reference].key
		c.declare(w.packages, reference)
		w.count(c)
	}
}

// introspected tells whether introspection is deployed. Every component has it,
// but it needs exposition: where the context has neither, it is left out rather
// than asked for.
func (c *census) introspected() bool {
	return c.annotation(packageIntrospection) != nil || c.annotation(packageExposition) != nil
}

// connectors are the packages that a component stores in and talks over.
func (c *Component) connectors() []string {
	all := slices.Clone(c.Bindings)
	if c.Storage != "" {
		all = append(all, c.Storage)
	}
	return all
}

func (c *Component) packages() []string {
	all := c.connectors()
	for _, e := range c.Extensions {
		all = append(all, e.Package)
	}
	return all
}

// settle sorts everything, so that nothing depends on the order of files.
func (c *census) settle(live []string) {
	isConnector := map[string]bool{}
	for _, one := range c.components {
		for _, reference := range one.connectors() {
			isConnector[reference] = true
		}
	}
	for _, reference := range slices.Sorted(slices.Values(live)) {
		if isConnector[reference] {
			c.connectors = append(c.connectors, reference)
		} else {
			c.extensions = append(c.extensions, reference)
		}
	}
	for _, instances := range c.users {
		slices.SortFunc(instances, func(a, b Instance) int { return strings.Compare(a.ID, b.ID) })
	}
}

// adopted are the workspace's own components as packages see them.
func adopted(ws *workspace.Workspace, converging bool) []*Component {
	var all []*Component
	for _, w := range ws.Components {
		c := &Component{
			ID: w.ID, Namespace: w.Namespace, Name: w.Name, Label: w.Label, Dir: w.Dir, Position: w.Position,
			Evicted: w.Evicted, Storage: w.Storage, Bindings: w.Uses, Entity: w.HasEntity, Events: w.Events,
			Contract: w.Contract,
		}
		if len(w.Operations)+len(w.Events)+len(w.Receivers) == 0 {
			c.Bindings = nil // it has nothing to say and hears nothing
		}
		for _, d := range w.Extensions {
			c.Extensions = append(c.Extensions, Extension{Package: d.Package, Value: d.Value.Unpack(), Position: d.Position})
		}
		for _, r := range w.Receivers {
			c.Receivers = append(c.Receivers, Receiver(r))
		}
		if converging && c.Entity && !c.declares(packageConvergence) {
			c.Extensions = append(c.Extensions, Extension{Package: packageConvergence, Position: c.Position})
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *Component) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func (c *Component) declares(reference string) bool {
	return slices.ContainsFunc(c.Extensions, func(e Extension) bool { return e.Package == reference })
}
