package extensions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/workspace"
)

// census is who is there, and which packages they use.
type census struct {
	options     Options
	annotations map[string]workspace.Annotation
	components  map[string]*Component // by ID
	// connectors and extensions are references of packages that something
	// deployed uses, sorted.
	connectors, extensions []string
	users                  map[string][]Instance // by package, evicted ones too
	// listed are packages whose services compositions run.
	listed map[string]bool
	// names are those that packages of paths have in their package.json.
	names map[string]string
	// uninvited are components that compositions list and nothing brings.
	uninvited []*Component
}

// count visits the components, and those that their packages bring, and so on.
// What only evicted ones lead to is evicted itself. It fails where a package
// that is asked what it brings does.
func count(ctx context.Context, ws *workspace.Workspace, o Options) (*census, error) {
	c := &census{
		options:     o,
		annotations: map[string]workspace.Annotation{}, components: map[string]*Component{},
		users: map[string][]Instance{}, listed: map[string]bool{}, names: map[string]string{},
	}
	for _, a := range ws.Context.Annotations {
		c.annotations[a.Package] = a
	}
	own, guests := adopted(ws, c.annotation(packageConvergence) != nil, o.Revived)
	w := walk{ctx: ctx, census: c, seen: map[string]bool{}, guests: guests, banned: bans(ws, o.Revived)}
	w.components(own)
	for _, reference := range w.roots(ws) {
		w.visit(reference, ".")
	}
	live := len(w.order)
	c.uninvited = w.unreached()
	w.evicted = true
	w.components(own)
	for _, one := range w.later {
		w.count(one)
	}
	c.settle(w.order[:live])
	return c, w.err
}

// bans are the IDs of components that are evicted, those that packages bring too.
func bans(ws *workspace.Workspace, revived []string) map[string]bool {
	banned := map[string]bool{}
	for _, id := range ws.Context.Evicted.Components {
		banned[id] = !slices.Contains(revived, id)
	}
	return banned
}

// roots are packages that are deployed though no component may use them.
func (w *walk) roots(ws *workspace.Workspace) []string {
	var roots []string
	for _, composition := range ws.Compositions {
		for _, reference := range composition.Services {
			w.listed[reference] = true
			roots = append(roots, reference)
		}
	}
	for _, reference := range slices.Sorted(maps.Keys(w.annotations)) {
		if known, standard := table[reference]; standard && known.standalone || !standard && w.introduce(reference, ".").Standalone {
			roots = append(roots, reference)
		}
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// annotated is what the context says to a package. One of a path is called by
// the name that its package.json states.
func (c *census) annotated(reference string) workspace.Annotation {
	return c.annotations[c.called(reference)]
}

func (c *census) annotation(reference string) *document.Value { return c.annotated(reference).Value }

// called is the name of a package, which a path does not tell.
func (c *census) called(reference string) string {
	if !strings.HasPrefix(reference, "./") || c.options.Packages == nil {
		return reference
	}
	name, known := c.names[reference]
	if !known {
		dir, key, keyed := strings.Cut(reference, "#")
		name = reference
		if stated := packageFacts(c.options.Packages, path.Clean(dir)).Name; stated != "" {
			name = stated
			if keyed {
				name += "#" + key
			}
		}
		c.names[reference] = name
	}
	return name
}

// walk visits packages, each once, and counts who uses them.
type walk struct {
	*census
	ctx     context.Context //nolint:containedctx // of the one call that walks
	seen    map[string]bool
	order   []string
	evicted bool // what is visited now is
	// guests are components that compositions list and packages bring, by ID.
	guests map[string]*Component
	banned map[string]bool
	// later are brought components that are evicted themselves.
	later []*Component
	err   error
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
		w.visit(reference, c.Dir)
	}
}

func (w *walk) use(reference string, i Instance) {
	w.users[reference] = append(w.users[reference], i)
}

func (w *walk) visit(reference, from string) {
	if w.seen[reference] || reference == packageIntrospection && !w.introspected() {
		return
	}
	w.seen[reference] = true
	w.order = append(w.order, reference)
	for _, c := range w.bring(reference, from) {
		c.Evicted, c.Bringer = w.evicted, cmp.Or(table[reference].key, reference)
		if !w.evicted && w.banned[c.ID] {
			c.Evicted = true
			w.later = append(w.later, c)
			continue
		}
		w.count(c)
	}
}

// bring are the components that a package brings. One that a composition lists
// was read whole.
func (w *walk) bring(reference, from string) []*Component {
	var all []*Component
	if _, standard := table[reference]; standard {
		all = brought(reference, w.annotation(reference))
		for _, c := range all {
			c.declare(w.options.Packages, reference)
		}
	} else {
		all = w.introduce(reference, from).Components
	}
	for i, c := range all {
		if guest := w.guests[c.ID]; guest != nil {
			all[i] = guest
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.guests)) {
		if guest := w.guests[id]; guest.Bringer == reference && !slices.Contains(all, guest) && table[reference].declare == nil {
			all = append(all, guest)
		}
	}
	return all
}

// introduce asks a package that is not known here what it is. One that says
// nothing is nothing special.
func (w *walk) introduce(reference, from string) Introduction {
	if w.options.Foreign == nil || w.err != nil {
		return Introduction{}
	}
	var annotation json.RawMessage
	if v := w.annotation(reference); v != nil {
		annotation = v.JSON()
	}
	said, err := w.options.Foreign.Introduce(w.ctx, reference, origin(reference, from), annotation)
	if err != nil && !errors.Is(err, ErrUndescribed) {
		w.err = fmt.Errorf("ask package %s: %w", reference, err)
	}
	return said
}

// origin is the directory that a package is looked for from.
func origin(reference, from string) string {
	if strings.HasPrefix(reference, "./") {
		return "."
	}
	return cmp.Or(from, ".")
}

// unreached are the guests that nothing deployed has brought.
func (w *walk) unreached() []*Component {
	var all []*Component
	for _, id := range slices.Sorted(maps.Keys(w.guests)) {
		if w.census.components[id] != w.guests[id] {
			all = append(all, w.guests[id])
		}
	}
	return all
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

// adopted are the workspace's own components as packages see them, by ID, and
// those of packages that compositions list. Revived ones are as if nobody had
// evicted them.
func adopted(ws *workspace.Workspace, converging bool, revived []string) (own []*Component, guests map[string]*Component) {
	guests = map[string]*Component{}
	for _, w := range ws.Components {
		c := adopt(w)
		if slices.Contains(revived, c.ID) {
			c.Evicted = false
		}
		if converging && c.Entity && !c.declares(packageConvergence) {
			c.Extensions = append(c.Extensions, Extension{Package: packageConvergence, Position: c.Position})
		}
		if c.Bringer != "" {
			guests[c.ID] = c
			continue
		}
		own = append(own, c)
	}
	slices.SortFunc(own, func(a, b *Component) int { return strings.Compare(a.ID, b.ID) })
	return own, guests
}

// adopt makes a component of what its manifest and its directories say.
func adopt(w *workspace.Component) *Component {
	c := &Component{
		ID: w.ID, Namespace: w.Namespace, Name: w.Name, Label: w.Label, Dir: w.Dir, Bringer: w.Bringer, Position: w.Position,
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
	return c
}

func (c *Component) declares(reference string) bool {
	return slices.ContainsFunc(c.Extensions, func(e Extension) bool { return e.Package == reference })
}
