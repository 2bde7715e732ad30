package extensions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"toa.io/toa/document"
	"toa.io/toa/workspace"
)

// gathered is what all packages ask for together.
type gathered struct {
	variables map[string][]Variable
	mounts    map[string][]Mount
	installs  map[string]map[string]string
	services  []Service
	events    []string
	probe     *Probe // nil: none
	notices   []document.Notice
}

// gathering asks the packages, connectors first, and collects what is wrong.
type gathering struct {
	*census
	context *workspace.Context
	// compositions are those of the workspace.
	compositions []*workspace.Composition
	result       gathered
	errors       document.Errors
	unknowns     []error
}

func (g *gathering) run(ctx context.Context) error {
	g.result = gathered{
		variables: map[string][]Variable{}, mounts: map[string][]Mount{}, installs: map[string]map[string]string{},
	}
	for _, references := range [][]string{g.connectors, g.extensions} {
		for _, reference := range references {
			if err := g.ask(ctx, reference); err != nil {
				return err
			}
		}
	}
	g.unheard()
	for _, c := range g.uninvited {
		g.refuse(c)
	}
	return nil
}

// refuse reports a component of a package that a composition lists although
// nothing that is deployed brings it.
func (g *gathering) refuse(guest *Component) {
	name := cmp.Or(table[guest.Bringer].key, guest.Bringer)
	for _, c := range g.compositions {
		if slices.ContainsFunc(c.Components, func(m *workspace.Component) bool { return m.ID == guest.ID }) {
			g.errors.List = append(g.errors.List, &document.Error{
				Position: c.Position,
				Msg: "composition " + c.Name + ": expected a component that is deployed, found " + document.Quote(guest.ID) +
					", which only " + name + " brings, and nothing here uses that",
				Fix: "state `" + name + "` in " + workspace.ContextFile + ", or remove the component from the composition",
			})
		}
	}
}

// unheard notices annotations of packages that nobody asks: their names may be
// mistyped.
func (g *gathering) unheard() {
	for _, a := range g.context.Annotations {
		asked := func(reference string) bool { return g.called(reference) == a.Package }
		if !slices.ContainsFunc(g.connectors, asked) && !slices.ContainsFunc(g.extensions, asked) {
			g.notice(a.Package, "what the context says to "+cmp.Or(table[a.Package].key, a.Package)+
				" has no effect, for nothing that is deployed uses it")
		}
	}
}

func (g *gathering) notice(reference, text string) {
	g.result.notices = append(g.result.notices, document.Notice{Text: text, Positions: []document.Position{g.place(reference)}})
}

func (g *gathering) ask(ctx context.Context, reference string) error {
	in := g.input(reference)
	if known, standard := table[reference]; standard {
		in.Key = known.key
		g.take(reference, known.declare(in))
		g.errors.List = append(g.errors.List, in.Reader.Errors()...)
		return nil
	}
	d, err := g.abroad(ctx, in)
	switch {
	case errors.Is(err, ErrUndescribed):
		g.unknowns = append(g.unknowns, g.unknown(in))
	case err != nil:
		return fmt.Errorf("ask package %s: %w", reference, err)
	}
	for i := range d.Services {
		d.Services[i].Package = reference
	}
	g.take(reference, d)
	return nil
}

func (g *gathering) abroad(ctx context.Context, in Input) (Declaration, error) {
	if g.options.Foreign == nil {
		return Declaration{}, ErrUndescribed
	}
	from := "."
	if len(in.All) > 0 {
		from = in.All[0].Dir
	}
	return g.options.Foreign.Describe(ctx, in.Package, origin(in.Package, from), in.request())
}

func (g *gathering) input(reference string) Input {
	in := Input{
		Reader: document.NewReader(workspace.ContextFile), Package: reference, Key: reference,
		Annotation: g.annotation(reference), All: g.users[reference], Context: g.context,
	}
	for _, i := range in.All {
		if !i.Evicted {
			in.Instances = append(in.Instances, i)
		}
	}
	return in
}

func (g *gathering) unknown(in Input) error {
	e := &UnknownPackageError{Package: in.Package, Position: g.annotated(in.Package).Position}
	if len(in.All) > 0 {
		e.Component, e.Position = in.All[0].ID, in.All[0].Position
	}
	if e.Position.File == "" {
		e.Position.File = workspace.ContextFile
	}
	return e
}

// take adds what a package asks for to what others did.
func (g *gathering) take(reference string, d Declaration) {
	r := &g.result
	for _, notice := range d.Notices {
		g.notice(reference, notice)
	}
	for key, variables := range d.Variables {
		r.variables[key] = append(r.variables[key], variables...)
	}
	for key, mounts := range d.Mounts {
		r.mounts[key] = append(r.mounts[key], mounts...)
	}
	for key, packages := range d.Installs {
		if r.installs[key] == nil {
			r.installs[key] = map[string]string{}
		}
		for name, version := range packages {
			r.installs[key][name] = version
		}
	}
	r.services = append(r.services, d.Services...)
	r.events = append(r.events, d.Events...)
	if d.Probe != nil {
		r.probe = d.Probe
		if d.Probe.Off {
			r.probe = nil
		}
	}
}
