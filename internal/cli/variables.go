package cli

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/extensions"
	"toa.io/toa/workspace"
)

// choice picks variables of a deployment: those of all units, and those of the
// named components and services, or of every one where none is named.
type choice struct{ deployment *extensions.Deployment }

// among are those IDs that people name: by ID, label, or the name alone in the
// default namespace.
func among(ids, names []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return name == label(id) || label(name) == label(id) })
	})
}

func label(id string) string {
	namespace, name, _ := strings.Cut(workspace.CompleteID(id), ".")
	return workspace.Label(namespace, name)
}

// variables are the chosen ones, of each name the first: what is for all goes
// first, then labels, sorted, then services by ID.
func (c choice) variables(components, services []string) ([]extensions.Variable, error) {
	labels, hosts := c.running(), c.deployment.Services
	if len(components)+len(services) > 0 {
		var err error
		if labels, err = c.named(components); err != nil {
			return nil, err
		}
		if hosts, err = c.serving(services); err != nil {
			return nil, err
		}
	}
	for _, s := range hosts {
		labels = append(labels, s.Components...)
	}
	slices.Sort(labels)
	all := slices.Clone(c.deployment.Variables[extensions.Global])
	for _, label := range slices.Compact(labels) {
		all = append(all, c.deployment.Variables[label]...)
	}
	for _, s := range hosts {
		all = append(all, s.Variables...)
	}
	return firsts(all), nil
}

func firsts(all []extensions.Variable) []extensions.Variable {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(v extensions.Variable) bool {
		known := seen[v.Name]
		seen[v.Name] = true
		return known
	})
}

// running are the labels of the components that are not evicted.
func (c choice) running() []string {
	return labels(slices.DeleteFunc(slices.Clone(c.deployment.Components), func(id string) bool {
		return slices.Contains(c.deployment.Evicted, id)
	}))
}

func labels(ids []string) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = label(id)
	}
	return all
}

// named are the labels that people mean.
func (c choice) named(names []string) ([]string, error) {
	known := labels(c.deployment.Components)
	var meant []string
	for _, name := range names {
		switch {
		case slices.Contains(known, name):
			meant = append(meant, name)
		case slices.Contains(known, label(name)):
			meant = append(meant, label(name))
		default:
			return nil, unknownName("component", name, slices.Concat(c.deployment.Components, known))
		}
	}
	return meant, nil
}

// serving are the services that people mean: by ID, name, group, package or the
// shortcut of that.
func (c choice) serving(names []string) ([]extensions.Placed, error) {
	meant := map[string]bool{}
	for _, name := range names {
		found := false
		for _, s := range c.deployment.Services {
			if slices.Contains([]string{s.ID(), s.Name, s.Group, s.Package}, name) || s.Package == workspace.Resolve(name) {
				found, meant[s.ID()] = true, true
			}
		}
		if !found {
			return nil, c.unknownService(name)
		}
	}
	return slices.DeleteFunc(slices.Clone(c.deployment.Services), func(s extensions.Placed) bool { return !meant[s.ID()] }), nil
}

func (c choice) unknownService(name string) error {
	var ids, others []string
	for _, s := range c.deployment.Services {
		ids = append(ids, s.ID())
		others = append(others, s.Group, s.Name, s.Package)
	}
	return unknownName("service", name, append(ids, others...))
}

// unknownName is a command line that names something that is not there.
func unknownName(what, name string, known []string) error {
	hint := "there is none here"
	if len(known) > 0 {
		hint = "there is for instance " + document.Quote(known[0])
	}
	return &usageError{
		err:  errors.New("unknown " + what + " " + document.Quote(name)),
		hint: cmp.Or(document.Suggest(name, known), hint),
	}
}
