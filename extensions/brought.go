package extensions

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/workspace"
)

// sketch is a component that a package ships: what of it matters here.
type sketch struct {
	id         string
	entity     bool
	extensions []string // short names
	events     []string // beyond those of every entity
	receives   []string
}

// changes are the events of every entity, from the prototype.
var changes = []string{"created", "deleted", "sync", "updated"}

// shipped are the components of the standard packages. Those that decide
// nothing by themselves are as the newest runtime has them.
var shipped = map[string][]sketch{
	packageCadence:       {{id: "cadence.metronome", entity: true, extensions: []string{"cadence"}}},
	packageConfiguration: {{id: "configuration.values", entity: true, extensions: []string{"exposition"}}},
	packageContinuity:    {{id: "continuity.journal", entity: true}},
	packageExposition: {
		{id: "exposition.atom"},
		{id: "exposition.octets", extensions: []string{"storages"}},
		{id: "identity.bans", entity: true, extensions: []string{"exposition"}},
		{id: "identity.basic", entity: true, extensions: []string{"configuration", "exposition"}, events: []string{"principal"}},
		{id: "identity.clients", entity: true, extensions: []string{"configuration", "exposition", "stash"}},
		{id: "identity.credentials", extensions: []string{"exposition"}},
		{id: "identity.federation", entity: true, extensions: []string{"configuration", "exposition"}, events: []string{"principal"}},
		{id: "identity.grants", entity: true, extensions: []string{"configuration", "exposition", "stash"}},
		{
			id: "identity.keys", entity: true, extensions: []string{"exposition"},
			receives: []string{"identity.bans.created", "identity.bans.updated", "identity.roles.deleted"},
		},
		{id: "identity.otp", entity: true, extensions: []string{"configuration", "stash"}},
		{id: "identity.passkeys", entity: true, extensions: []string{"configuration", "exposition", "stash"}},
		{
			id: "identity.roles", entity: true, extensions: []string{"exposition"},
			receives: []string{"identity.basic.principal", "identity.federation.principal"},
		},
		{
			id: "identity.tokens", entity: true, extensions: []string{"configuration", "exposition"},
			receives: []string{"identity.bans.created", "identity.bans.updated"},
		},
	},
	packageIntrospection: {
		{id: "introspection.edges", entity: true, extensions: []string{"exposition"}},
		{id: "introspection.nodes", entity: true, extensions: []string{"exposition"}},
	},
}

// signals is what introspection brings where the context allows halts.
var signals = sketch{id: "introspection.signals", entity: true, extensions: []string{"exposition"}}

// brought are the components that a package brings into a context that says
// this to it, new ones each time.
func brought(reference string, annotation *document.Value) []*Component {
	sketches := shipped[reference]
	if reference == packageIntrospection {
		switch {
		case refused(annotation):
			return nil
		case halts(annotation):
			sketches = append(slices.Clone(sketches), signals)
		}
	}
	var components []*Component
	for _, s := range sketches {
		components = append(components, s.component())
	}
	return components
}

func halts(annotation *document.Value) bool {
	if annotation == nil {
		return false
	}
	halt := annotation.Find("halt")
	return halt != nil && !refused(halt.Value)
}

func (s sketch) component() *Component {
	namespace, name, _ := strings.Cut(s.id, ".")
	c := &Component{
		ID: s.id, Namespace: namespace, Name: name, Label: namespace + "-" + name,
		Entity: s.entity, Events: slices.Clone(s.events), Bindings: []string{packageAMQP},
	}
	if s.entity {
		c.Storage = packageMongoDB
		c.Events = append(c.Events, changes...)
		slices.Sort(c.Events)
	}
	for _, short := range s.extensions {
		c.Extensions = append(c.Extensions, Extension{Package: "@toa.io/extensions." + short})
	}
	for _, event := range s.receives {
		c.Receivers = append(c.Receivers, Receiver{Event: event})
	}
	return c
}

// declare reads from the installed package what the component declares for its
// configuration: its service has to know the very same. Without the package,
// nothing is declared.
func (c *Component) declare(packages fs.FS, reference string) {
	at := slices.IndexFunc(c.Extensions, func(e Extension) bool { return e.Package == packageConfiguration })
	if packages == nil || at < 0 {
		return
	}
	file := path.Join("node_modules", reference, "components", c.ID, workspace.ManifestFile)
	data, err := fs.ReadFile(packages, file)
	if err != nil {
		return
	}
	root := document.NewReader(file).Parse(data) // not ours to complain about
	if root == nil {
		return
	}
	if f := root.Find("configuration"); f != nil {
		c.Extensions[at].Value = f.Value
	}
}
