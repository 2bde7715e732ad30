package extensions

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/graph"
	"toa.io/toa/workspace"
)

// defaultReplicas is how many pods services and mono have.
const defaultReplicas = 2

// assembly gives each unit its share of what was gathered.
type assembly struct {
	*gathered
	ws *workspace.Workspace
	// annotated is where the context speaks of a package.
	annotated func(reference string) document.Position
	errors    document.Errors
	conflicts []error
}

// keys are those whose variables and mounts a process gets that has these
// services inside and components with these labels: what is for all goes
// first, then labels, sorted.
func keys(labels []string, services []Service) []string {
	all := slices.Clone(labels)
	for _, s := range services {
		all = append(all, s.Components...)
	}
	slices.Sort(all)
	return append([]string{Global}, slices.Compact(all)...)
}

// share is what a process is told; the first of a name wins.
func (a *assembly) share(labels []string, services []Service) []Variable {
	var all []Variable
	for _, key := range keys(labels, services) {
		all = append(all, a.variables[key]...)
	}
	for _, s := range services {
		all = append(all, s.Variables...)
	}
	return unique(all, func(v Variable) string { return v.Name })
}

// unique keeps the first of each name.
func unique[T any](all []T, name func(T) string) []T {
	var firsts []T
	seen := map[string]bool{}
	for _, one := range all {
		if !seen[name(one)] {
			seen[name(one)] = true
			firsts = append(firsts, one)
		}
	}
	return firsts
}

func (a *assembly) mounted(labels []string, services []Service) []Mount {
	var all []Mount
	for _, key := range keys(labels, services) {
		all = append(all, a.mounts[key]...)
	}
	return unique(all, func(m Mount) string { return m.Name })
}

func (a *assembly) installed(labels []string, services []Service) map[string]string {
	packages := map[string]string{}
	for _, key := range keys(labels, services) {
		maps.Copy(packages, a.installs[key])
	}
	for _, s := range services {
		maps.Copy(packages, a.installs[s.ID()])
	}
	return packages
}

// composition is a unit of the workspace with the services that it hosts.
func (a *assembly) composition(c *workspace.Composition) Unit {
	var labels []string
	for _, member := range c.Components {
		labels = append(labels, member.Label)
	}
	u := a.unit(graph.NewID("composition", c.Slug), labels, a.hosted(c))
	u.Packages = c.Services
	u.Replicas = c.Replicas
	u.Resources = converted(c.Resources)
	a.finish(&u, "composition "+c.Name, c.Position)
	a.conflicts = append(a.conflicts, claimed("composition "+c.Name, c.Position, a.probe, a.hosted(c))...)
	return u
}

func (a *assembly) hosted(c *workspace.Composition) []Service {
	var inside []Service
	for _, s := range a.services {
		if slices.Contains(c.Services, s.Package) {
			inside = append(inside, s)
		}
	}
	return inside
}

// unit is a process of components and services.
func (a *assembly) unit(id graph.ID, labels []string, services []Service) Unit {
	u := Unit{
		ID: id, Components: slices.Sorted(slices.Values(labels)), Replicas: defaultReplicas, Probe: a.probe,
		Variables: a.share(labels, services), Mounts: a.mounted(labels, services), Installs: a.installed(labels, services),
	}
	for _, s := range services {
		u.Hosted = append(u.Hosted, s.ID())
		if s.Port != 0 {
			u.Backends = append(u.Backends, s.backend())
		}
		if s.Probe != nil && !s.Probe.Off {
			u.Probe = s.Probe
		}
	}
	// The more special path goes first, as some controllers take the first that fits.
	slices.SortStableFunc(u.Backends, func(a, b Backend) int {
		return cmp.Or(len(b.Path)-len(a.Path), strings.Compare(a.Path, b.Path), a.Port-b.Port)
	})
	return u
}

func (s Service) backend() Backend {
	if s.Ingress == nil {
		return Backend{s.Port, "/"}
	}
	return Backend{s.Port, cmp.Or(s.Ingress.Path, "/")}
}

// own is a unit of one service that no composition runs.
func (a *assembly) own(s Service) Unit {
	u := Unit{
		ID: graph.NewID("service", s.ID()), Replicas: defaultReplicas, Service: &s, Probe: s.Probe, Resources: s.Resources,
		Mounts: a.mounted(nil, []Service{s}), Installs: a.installed(nil, []Service{s}),
	}
	all := append(slices.Clone(s.Variables), a.share(s.Components, nil)...)
	u.Variables = unique(all, func(v Variable) string { return v.Name })
	if s.Port != 0 {
		u.Backends = []Backend{s.backend()}
	}
	switch {
	case u.Probe == nil:
		u.Probe = a.probe
	case u.Probe.Off:
		u.Probe = nil
	}
	position := a.annotated(s.Package)
	a.finish(&u, "service "+s.ID(), position)
	answered := u.Probe
	if s.Probe != nil {
		answered = nil // the service claims its own
	}
	a.conflicts = append(a.conflicts, claimed("service "+s.ID(), position, answered, []Service{s})...)
	return u
}

// mono is the one unit of everything that is not evicted.
func (a *assembly) mono() Unit {
	var labels []string
	for _, c := range a.ws.Components {
		if !c.Evicted && c.Bringer == "" {
			labels = append(labels, c.Label)
		}
	}
	u := a.unit("mono", labels, a.services)
	u.Replicas = cmp.Or(a.ws.Context.Mono.Replicas, defaultReplicas)
	u.Resources = converted(a.ws.Context.Mono.Resources)
	position := document.Position{File: workspace.ContextFile}
	a.finish(&u, "mono", position)
	a.conflicts = append(a.conflicts, claimed("mono", position, a.probe, a.services)...)
	return u
}

// finish settles what the unit may take: its own word, else the context's. To
// leave it out has to be said, for such pods are the first to be evicted.
func (a *assembly) finish(u *Unit, name string, position document.Position) {
	if u.Resources == nil {
		u.Resources = converted(a.ws.Context.Resources)
	}
	if u.Resources == nil {
		a.fail(position, "state `resources` for it or for the context, or `resources: null` for none at all",
			name+": expected resources to be stated")
		return
	}
	if expected := u.limitHeap(); expected != "" {
		a.fail(position, "", name+": resources.memory: expected "+expected)
	}
}

func (a *assembly) fail(position document.Position, fix, message string) {
	a.errors.List = append(a.errors.List, &document.Error{Position: position, Msg: message, Fix: fix})
}

func converted(r *workspace.Resources) *Resources {
	switch {
	case r == nil:
		return nil
	case r.None:
		return &Resources{}
	}
	return &Resources{CPU: r.CPU, Memory: r.Memory}
}
