package extensions

import (
	"maps"
	"slices"

	"toa.io/toa/workspace"
)

// completed is a service's ingress with the context's own where it states
// nothing.
func completed(own *Ingress, context *workspace.Ingress) *Ingress {
	whole := *own
	if context == nil {
		return &whole
	}
	if len(whole.Hosts) == 0 {
		whole.Hosts = slices.Clone(context.Hosts)
	}
	if whole.Class == "" {
		whole.Class = context.Class
	}
	if whole.Annotations == nil {
		whole.Annotations = maps.Clone(context.Annotations)
	}
	if whole.Default == nil {
		whole.Default = context.Default
	}
	return &whole
}

// united is the one ingress of several services in mono: what they state wins
// over the context's, and all hosts are answered. It is nil if none wants one.
func united(services []Service, context *workspace.Ingress) *Ingress {
	all := completed(&Ingress{}, context)
	some := false
	for _, s := range services {
		if s.Ingress == nil {
			continue
		}
		some = true
		all.add(s.Ingress)
	}
	if !some {
		return nil
	}
	return all
}

func (i *Ingress) add(own *Ingress) {
	for _, host := range own.Hosts {
		if !slices.Contains(i.Hosts, host) {
			i.Hosts = append(i.Hosts, host)
		}
	}
	if own.Class != "" {
		i.Class = own.Class
	}
	if own.Annotations != nil {
		i.Annotations = maps.Clone(own.Annotations)
	}
	if own.Default != nil {
		i.Default = own.Default
	}
}
