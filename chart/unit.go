package chart

import (
	"maps"
	"slices"

	"toa.io/toa/extensions"
)

// Each of these is one item of values.yaml. What is not stated is left out.

func composition(u extensions.Unit, image string) mapping {
	return mapping{
		{"name", u.ID.Name()},
		{"image", image},
		{"components", names(u.Components)},
		{"resources", resources(u.Resources)},
		{"services", names(u.Packages)},
		{"replicas", u.Replicas},
		{"variables", variables(u.Variables)},
		{"mounts", mounts(u.Mounts)},
		{"hosted", names(u.Hosted)},
		{"backends", backends(u.Backends)},
		{"probe", probe(u.Probe)},
	}.stated()
}

func mono(d *extensions.Deployment, u extensions.Unit, image string) mapping {
	return mapping{
		{"replicas", u.Replicas},
		{"resources", resources(u.Resources)},
		{"components", names(u.Components)},
		{"variables", variables(u.Variables)},
		{"mounts", mounts(u.Mounts)},
		{"ingress", ingress(d.Ingress)},
		{"annotations", texts(d.Annotations)},
		{"backends", backends(u.Backends)},
		{"probe", probe(u.Probe)},
		{"image", image},
	}.stated()
}

// service is one with a Deployment of its own.
func service(s extensions.Service, u extensions.Unit, image string) mapping {
	return mapping{
		{"name", s.ID()},
		{"image", image},
		{"group", s.Group},
		{"version", s.Version},
		{"port", s.Port},
		{"replicas", u.Replicas},
		{"variables", variables(u.Variables)},
		{"mounts", mounts(u.Mounts)},
		{"components", names(s.Components)},
		{"ingress", ingress(s.Ingress)},
		{"annotations", texts(s.Annotations)},
		{"probe", probe(u.Probe)},
		{"resources", resources(u.Resources)},
	}.stated()
}

// hosted is a service that compositions run, the workload: its variables and its
// probe are theirs.
func hosted(s extensions.Service, workload []string) mapping {
	return mapping{
		{"name", s.ID()},
		{"workload", names(workload)},
		{"group", s.Group},
		{"version", s.Version},
		{"port", s.Port},
		{"ingress", ingress(s.Ingress)},
		{"annotations", texts(s.Annotations)},
	}.stated()
}

func variables(all []extensions.Variable) list {
	var l list
	for _, v := range all {
		m := mapping{{"name", v.Name}}
		if v.Secret == nil {
			m = append(m, entry{"value", v.Value}) // the empty text is a value too
		} else {
			m = append(m, entry{"secret", secret(*v.Secret)})
		}
		l = append(l, m)
	}
	return l
}

func secret(s extensions.Secret) brief {
	return brief(mapping{{"name", s.Name}, {"key", s.Key}, {"optional", s.Optional}}.stated())
}

func mounts(all []extensions.Mount) list {
	var l list
	for _, m := range all {
		l = append(l, mapping{{"name", volume(m)}, {"path", m.Path}, {"claim", m.Claim}})
	}
	return l
}

func backends(all []extensions.Backend) list {
	var l list
	for _, b := range all {
		l = append(l, mapping{{"port", b.Port}, {"path", b.Path}}.stated())
	}
	return l
}

func probe(p *extensions.Probe) mapping {
	if p == nil || p.Off {
		return nil
	}
	return mapping{{"path", p.Path}, {"port", p.Port}, {"delay", p.Delay}}.stated()
}

func ingress(i *extensions.Ingress) mapping {
	if i == nil {
		return nil
	}
	return mapping{
		{"path", i.Path},
		{"hosts", names(i.Hosts)},
		{"class", i.Class},
		{"annotations", texts(i.Annotations)},
		{"default", i.Default != nil && *i.Default},
	}.stated()
}

func resources(r *extensions.Resources) mapping {
	if r == nil {
		return nil
	}
	return mapping{{"cpu", pair(r.CPU)}, {"memory", pair(r.Memory)}}.stated()
}

// pair is [request, limit].
func pair(p *[2]string) row {
	if p == nil {
		return nil
	}
	return p[:]
}

func names(all []string) list {
	var l list
	for _, name := range all {
		l = append(l, name)
	}
	return l
}

// texts are by key, whose characters others chose.
func texts(by map[string]string) mapping {
	var m mapping
	for _, key := range slices.Sorted(maps.Keys(by)) {
		m = append(m, entry{quote(key), by[key]})
	}
	return m
}
