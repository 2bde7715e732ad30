package bridge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"toa.io/toa/extensions"
)

// answer is a line that the program writes.
type answer struct {
	Declaration  *declaration
	Introduction *introduction
	Error        string
}

// declaration is what a package returns, in its own words.
type declaration struct {
	Variables map[string][]variable
	Mounts    map[string][]extensions.Mount
	Services  []service
	Events    []string
	Probe     *probe
	Installs  map[string]map[string]string
}

type variable struct {
	Name   string
	Value  any
	Secret *extensions.Secret
}

type service struct {
	Group, Name, Version, Image string
	Port                        int
	Ingress                     *extensions.Ingress
	Annotations                 map[string]string
	Resources                   json.RawMessage
	Variables                   []variable
	Components                  []string
	Probe                       *probe
}

// probe may also be the word false.
type probe struct{ extensions.Probe }

func (p *probe) UnmarshalJSON(data []byte) error {
	if string(data) == "false" {
		p.Off = true
		return nil
	}
	return json.Unmarshal(data, &p.Probe)
}

// decode reads an answer. One that names an error is that error.
func decode(line []byte) (*answer, error) {
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		return nil, fmt.Errorf("expected a declaration: %w", err)
	}
	if a.Error != "" || a.Declaration == nil && a.Introduction == nil {
		return nil, errors.New(cmp.Or(a.Error, "expected a declaration, found nothing"))
	}
	return &a, nil
}

func (a *answer) declaration() (extensions.Declaration, error) {
	if a.Declaration == nil {
		return extensions.Declaration{}, errors.New("expected a declaration, found something else")
	}
	return a.Declaration.convert()
}

func (a *answer) introduction() (extensions.Introduction, error) {
	if a.Introduction == nil {
		return extensions.Introduction{}, errors.New("expected an introduction, found something else")
	}
	return a.Introduction.convert()
}

func (d *declaration) convert() (extensions.Declaration, error) {
	result := extensions.Declaration{
		Variables: map[string][]extensions.Variable{}, Mounts: d.Mounts, Events: d.Events, Installs: d.Installs,
	}
	if d.Probe != nil {
		result.Probe = &d.Probe.Probe
	}
	for key, variables := range d.Variables {
		converted, err := convert(variables)
		if err != nil {
			return result, err
		}
		result.Variables[key] = converted
	}
	for _, s := range d.Services {
		converted, err := s.convert()
		if err != nil {
			return result, err
		}
		result.Services = append(result.Services, converted)
	}
	return result, nil
}

func convert(variables []variable) ([]extensions.Variable, error) {
	var all []extensions.Variable
	for _, v := range variables {
		one := extensions.Variable{Name: v.Name, Secret: v.Secret}
		switch value := v.Value.(type) {
		case nil:
		case string:
			one.Value = value
		default:
			return nil, fmt.Errorf("expected the value of variable %q to be text", v.Name)
		}
		if v.Name == "" {
			return nil, errors.New("expected every variable to have a name")
		}
		all = append(all, one)
	}
	return all, nil
}

func (s service) convert() (extensions.Service, error) {
	if s.Group == "" || s.Name == "" {
		return extensions.Service{}, errors.New("expected every service to have a group and a name")
	}
	variables, err := convert(s.Variables)
	if err != nil {
		return extensions.Service{}, err
	}
	result := extensions.Service{
		Group: s.Group, Name: s.Name, Version: s.Version, Image: s.Image, Port: s.Port, Ingress: s.Ingress,
		Annotations: s.Annotations, Variables: variables, Components: s.Components,
	}
	if s.Probe != nil {
		result.Probe = &s.Probe.Probe
	}
	if len(s.Resources) == 0 {
		return result, nil // nothing is stated; null is an answer
	}
	result.Resources = &extensions.Resources{}
	return result, json.Unmarshal(s.Resources, result.Resources)
}
