package chart

import (
	"fmt"

	"toa.io/toa/extensions"
	"toa.io/toa/graph"
	"toa.io/toa/internal/lazyregexp"
	"toa.io/toa/workspace"
)

// The kinds of units. The only unit of its kind, mono has no name besides it.
const (
	compositionKind = "composition"
	serviceKind     = "service"
	monoKind        = "mono"
)

// pinned is a reference with a tag and a digest.
var pinned = lazyregexp.New(`^[^\s@]+:[\w][\w.-]*@sha256:[0-9a-f]{64}$`)

// UnpinnedError is a unit without a reference that ends in a digest.
type UnpinnedError struct {
	ID graph.ID
	// Reference is what there is, or empty.
	Reference string
}

func (e *UnpinnedError) Error() string {
	if e.Reference == "" {
		return fmt.Sprintf("%s has no published image", e.ID)
	}
	return fmt.Sprintf("image %s of %s is not pinned by a digest", e.Reference, e.ID)
}

// deployment is the one that is stated, or the compositions alone.
func (in Input) deployment() *extensions.Deployment {
	if in.Deployment != nil {
		return in.Deployment
	}
	d := &extensions.Deployment{}
	for _, c := range in.Workspace.Compositions {
		d.Units = append(d.Units, bare(in.Workspace, c))
	}
	return d
}

// bare is a composition with nothing but the variables that every process gets.
func bare(ws *workspace.Workspace, c *workspace.Composition) extensions.Unit {
	u := extensions.Unit{
		ID:       graph.NewID(compositionKind, c.Slug),
		Replicas: c.Replicas,
		Variables: []extensions.Variable{
			{Name: "TOA_CONTEXT", Value: ws.Context.Name},
			{Name: "TOA_ENV", Value: ws.Environment},
		},
	}
	for _, component := range c.Components {
		u.Components = append(u.Components, component.Label)
	}
	return u
}

// image is the reference of a unit's image.
func (in Input) image(id graph.ID) (string, error) {
	reference := in.References[id]
	if !pinned.MatchString(reference) {
		return "", &UnpinnedError{ID: id, Reference: reference}
	}
	return reference, nil
}

// values is values.yaml.
func values(in Input, d *extensions.Deployment) (mapping, error) {
	compositions, mono, err := workloads(in, d)
	if err != nil {
		return nil, err
	}
	var services list // mono runs them all, under its own name
	if mono == nil {
		if services, err = placed(in, d); err != nil {
			return nil, err
		}
	}
	components, err := componentMap(in.Workspace, in.Versions)
	if err != nil {
		return nil, fmt.Errorf("make component map: %w", err)
	}
	m := mapping{
		{"compositions", explained{aboutCompositions, compositions}},
		{"components", explained{aboutComponents, names(labels(d))}},
		{"services", explained{aboutServices, services}},
	}
	if credentials := in.Workspace.Context.Registry.Credentials; credentials != "" {
		m = append(m, entry{"credentials", explained{aboutCredentials, credentials}})
	}
	m = append(m, entry{"map", explained{aboutMap, components}})
	if mono != nil {
		m = append(m, entry{"mono", explained{aboutMono, mono}})
	}
	return append(m, entry{"security", explained{aboutSecurity, security()}}), nil
}

// What values.yaml says to those who read it: in review, mostly.
const (
	aboutValues = "# Written by toa: what runs in this environment, and of what images. To change it,\n" +
		"# change " + workspace.ContextFile + " and manifests. values.schema.json knows every key.\n"
	aboutCompositions = "Each is a Deployment \"composition-<name>\" of components in one process."
	aboutComponents   = "Each is a Service that leads to port 8005 of the pods with the component."
	aboutServices     = "Services of extensions: each a Deployment \"extension-<name>\", unless compositions\n" +
		"run it (workload), with a Service for its port and an Ingress for its hosts."
	aboutCredentials = "The Secret that images are pulled with."
	aboutMap         = "What processes are told of all components: the ConfigMap \"components\".\n" +
		"Pods see it change; they are not restarted."
	aboutMono     = "All components and services in one Deployment \"mono\"."
	aboutSecurity = "What all pods run under; change it where it does not fit."
)

// workloads are the units that run components: compositions, or mono alone.
func workloads(in Input, d *extensions.Deployment) (compositions list, single mapping, err error) {
	for _, u := range d.Units {
		kind := u.ID.Kind()
		if kind == serviceKind {
			continue
		}
		image, err := in.image(u.ID)
		if err != nil {
			return nil, nil, err
		}
		if kind == monoKind {
			single = mono(d, u, image)
		} else {
			compositions = append(compositions, composition(u, image))
		}
	}
	return compositions, single, nil
}

// placed are the services, whether they have a Deployment of their own or not.
func placed(in Input, d *extensions.Deployment) (list, error) {
	own, hosts := map[graph.ID]extensions.Unit{}, map[string][]string{}
	for _, u := range d.Units {
		own[u.ID] = u
		for _, s := range u.Hosted {
			hosts[s] = append(hosts[s], u.ID.Name())
		}
	}
	var all list
	for _, s := range d.Services {
		if workload := hosts[s.ID()]; len(workload) > 0 {
			all = append(all, hosted(s.Service, workload))
			continue
		}
		id := graph.NewID(serviceKind, s.ID())
		unit, ok := own[id]
		if !ok {
			return nil, fmt.Errorf("%s is run by no unit", id)
		}
		image, err := in.image(id)
		if err != nil {
			return nil, err
		}
		all = append(all, service(s.Service, unit, image))
	}
	return all, nil
}

// labels are those of all components that run, in the order of the units, each
// once: a component of two compositions has one Service.
func labels(d *extensions.Deployment) []string {
	var all []string
	seen := map[string]bool{}
	for _, u := range d.Units {
		if u.ID.Kind() == serviceKind {
			continue // components of a service's image are no business of others
		}
		for _, label := range u.Components {
			if !seen[label] {
				seen[label] = true
				all = append(all, label)
			}
		}
	}
	return all
}

// security is what the runtime works under: it needs no Kubernetes API and no
// unusual system call. It starts as root and gives that up by itself.
func security() mapping {
	return mapping{
		{"token", false},
		{"pod", mapping{{"seccompProfile", mapping{{"type", "RuntimeDefault"}}}}},
		{"container", mapping{}},
	}
}
