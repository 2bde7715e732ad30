package extensions

import "slices"

// continuity keeps runs that can be picked up again, in a service of its own.
func continuity(in Input) Declaration {
	in.read(in.Reader.Nullable(in.Reader.Sub(nil)))
	return Declaration{Services: []Service{in.service("continuity", "journal")}}
}

// service is one that runs the components that the package brings.
func (in Input) service(group, name string) Service {
	s := Service{Package: in.Package, Group: group, Name: name, Version: in.Context.Runtime.Version}
	for _, c := range brought(in.Package, in.Annotation) {
		if !slices.Contains(in.Context.Evicted.Components, c.ID) {
			s.Components = append(s.Components, c.Label)
		}
	}
	return s
}
