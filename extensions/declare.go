package extensions

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/workspace"
)

// Options say how to declare.
type Options struct {
	// Mono makes one unit of everything.
	Mono bool
	// Foreign asks packages that are not known here; nil asks none.
	Foreign Foreign
	// Packages is where node_modules is, for what standard packages bring along
	// and only they know; nil where nothing is installed.
	Packages fs.FS
	// Revived are IDs of components that are declared for as if they were not
	// evicted.
	Revived []string
}

// Declare says what a workspace needs of a deployment. It is pure but for what
// Options has it ask, and its result does not depend on the order of files. All mistakes
// are returned together: *document.Errors, *UnknownPackageError and
// *PortConflictError, joined.
func Declare(ctx context.Context, ws *workspace.Workspace, o Options) (*Deployment, error) {
	counted, err := count(ctx, ws, o)
	if err != nil {
		return nil, err
	}
	g := &gathering{census: counted, context: &ws.Context, compositions: ws.Compositions}
	if err := g.run(ctx); err != nil {
		return nil, err
	}
	if err := together(g.errors, g.unknowns); err != nil {
		return nil, err
	}
	a := g.assembly(ws)
	d := a.deployment(o.Mono)
	for _, id := range slices.Sorted(maps.Keys(counted.components)) {
		d.Components = append(d.Components, id)
		if counted.components[id].Evicted {
			d.Evicted = append(d.Evicted, id)
		}
	}
	if err := together(a.errors, a.conflicts); err != nil {
		return nil, err
	}
	return d, nil
}

// together joins mistakes in the order of files, with those of other types
// behind them.
func together(mistakes document.Errors, others []error) error {
	if len(mistakes.List) > 0 {
		mistakes.Sort()
		others = append([]error{&mistakes}, others...)
	}
	if len(others) == 1 {
		return others[0]
	}
	return errors.Join(others...)
}

// assembly completes what was gathered with what comes from the context.
func (g *gathering) assembly(ws *workspace.Workspace) *assembly {
	r := &g.result
	r.variables[Global] = settings(ws, r.variables[Global])
	for label, variable := range consumed(g.components, append(slices.Clone(ws.Context.Events), r.events...)) {
		r.variables[label] = append(r.variables[label], variable)
	}
	a := &assembly{gathered: r, ws: ws, annotated: g.place}
	a.contributed()
	r.services = slices.DeleteFunc(r.services, func(s Service) bool {
		return slices.Contains(ws.Context.Evicted.Services, s.Package)
	})
	slices.SortFunc(r.services, func(a, b Service) int { return strings.Compare(a.ID(), b.ID()) })
	return a
}

// place is where the context speaks of a package.
func (g *gathering) place(reference string) document.Position {
	p := g.annotated(reference).Position
	return document.Position{File: cmp.Or(p.File, workspace.ContextFile), Line: p.Line, Column: p.Column}
}

// contributed makes sure that packages whose services compositions list have some.
func (a *assembly) contributed() {
	for _, c := range a.ws.Compositions {
		for _, reference := range c.Services {
			if !slices.ContainsFunc(a.services, func(s Service) bool { return s.Package == reference }) {
				a.fail(c.Position, "remove it from `services`",
					"composition "+c.Name+": expected packages with a service under services, found "+document.Quote(reference)+", which has none here")
			}
		}
	}
}

func (a *assembly) deployment(mono bool) *Deployment {
	d := &Deployment{Variables: a.variables, Notices: a.notices}
	if mono {
		d.Units = []Unit{a.mono()}
		d.Ingress = united(a.services, a.ws.Context.Ingress)
		d.Annotations = a.annotations()
		a.reachable(d.Ingress, "mono", a.services)
	} else {
		a.parts(d)
	}
	d.Secrets = secrets(d.Units)
	return d
}

// parts makes a unit of each composition and of each service that none hosts.
func (a *assembly) parts(d *Deployment) {
	hosts := map[string][]string{}
	for _, c := range a.ws.Compositions {
		d.Units = append(d.Units, a.composition(c))
		for _, s := range a.hosted(c) {
			hosts[s.ID()] = append(hosts[s.ID()], c.Name)
		}
	}
	for _, s := range a.services {
		if s.Ingress != nil {
			s.Ingress = completed(s.Ingress, a.ws.Context.Ingress)
			a.reachable(s.Ingress, "service "+s.ID(), []Service{s})
		}
		if len(hosts[s.ID()]) == 0 {
			d.Units = append(d.Units, a.own(s))
		}
		d.Services = append(d.Services, Placed{Service: s, Hosts: hosts[s.ID()]})
	}
}

// reachable makes sure that an ingress leads from somewhere to something. That
// of the context alone, in mono without services to reach, leads nowhere.
func (a *assembly) reachable(i *Ingress, name string, services []Service) {
	for _, s := range services {
		if s.Ingress == nil {
			continue
		}
		position := a.annotated(s.Package)
		if len(i.Hosts) == 0 {
			a.fail(position, "state `ingress: {hosts: [example.com]}` in "+workspace.ContextFile,
				name+": expected hosts for the ingress of service "+s.ID())
			return
		}
		if s.Port == 0 {
			a.fail(position, "", name+": expected a port for the ingress of service "+s.ID()+" to lead to")
		}
	}
}

// annotations are those of the one Service of mono: the union.
func (a *assembly) annotations() map[string]string {
	var all map[string]string
	for _, s := range a.services {
		for key, value := range s.Annotations {
			if all == nil {
				all = map[string]string{}
			}
			all[key] = value
		}
	}
	return all
}

// secrets are all that units refer to, each once, where it is first.
func secrets(units []Unit) []Secret {
	var all []Secret
	at := map[[2]string]int{}
	for _, u := range units {
		for _, v := range u.Variables {
			if v.Secret == nil {
				continue
			}
			key := [2]string{v.Secret.Name, v.Secret.Key}
			i, known := at[key]
			if !known {
				i = len(all)
				at[key] = i
				all = append(all, *v.Secret)
			}
			all[i].Optional = all[i].Optional && v.Secret.Optional
		}
	}
	return all
}
