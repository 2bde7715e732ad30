package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"toa.io/toa/document"
	"toa.io/toa/extensions"
	"toa.io/toa/workspace"
)

// introduction is what a package says of itself, in its own words: it brings
// components as manifests, or as paths of directories.
type introduction struct {
	Standalone bool
	Manifests  []json.RawMessage
	Paths      []string
}

func (i *introduction) convert() (extensions.Introduction, error) {
	said := extensions.Introduction{Standalone: i.Standalone}
	for _, raw := range i.Manifests {
		c, err := component(raw)
		if err != nil {
			return said, err
		}
		said.Components = append(said.Components, c)
	}
	for _, path := range i.Paths {
		c, err := extensions.ReadComponent(os.DirFS(filepath.Dir(path)), filepath.Base(path))
		if err != nil {
			return said, fmt.Errorf("read a component that it brings: %w", err)
		}
		c.Dir = "" // it is no directory of the workspace
		said.Components = append(said.Components, c)
	}
	return said, nil
}

// manifest is one that the runtime has normalised: what matters here.
type manifest struct {
	Namespace, Name string
	Entity          *struct{ Storage string }
	Operations      map[string]struct{ Bindings []string }
	Events          map[string]struct{ Binding string }
	Receivers       map[string]receiver
	Extensions      map[string]json.RawMessage
}

// receiver may also be the name of an operation.
type receiver struct{ Source string }

func (r *receiver) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return nil
	}
	type plain receiver
	return json.Unmarshal(data, (*plain)(r))
}

// component is the one of a manifest that a package carries.
func component(raw json.RawMessage) (*extensions.Component, error) {
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("expected a manifest of a component that it brings: %w", err)
	}
	if m.Name == "" {
		return nil, errors.New("expected every component that it brings to have a name")
	}
	if m.Namespace == "" {
		m.Namespace = workspace.DefaultNamespace
	}
	c := &extensions.Component{
		ID: m.Namespace + "." + m.Name, Namespace: m.Namespace, Name: m.Name, Label: workspace.Label(m.Namespace, m.Name),
		Entity: m.Entity != nil, Events: slices.Sorted(maps.Keys(m.Events)), Bindings: m.bindings(), Contract: raw,
	}
	if m.Entity != nil {
		c.Storage = workspace.Resolve(m.Entity.Storage)
	}
	for _, event := range slices.Sorted(maps.Keys(m.Receivers)) {
		c.Receivers = append(c.Receivers, extensions.Receiver{Event: event, Source: m.Receivers[event].Source})
	}
	for _, reference := range slices.Sorted(maps.Keys(m.Extensions)) {
		value := document.NewReader(c.ID).Parse(m.Extensions[reference])
		c.Extensions = append(c.Extensions, extensions.Extension{Package: workspace.Resolve(reference), Value: value})
	}
	return c, nil
}

// bindings are those of all operations and events.
func (m *manifest) bindings() []string {
	var all []string
	for _, o := range m.Operations {
		all = append(all, o.Bindings...)
	}
	for _, e := range m.Events {
		if e.Binding != "" {
			all = append(all, e.Binding)
		}
	}
	for i, reference := range all {
		all[i] = workspace.Resolve(reference)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
