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
	entity     bool
	extensions []string // short names
	events     []string // beyond those of every entity
	receives   []string
}

// changes are the events of every entity, from the prototype.
var changes = []string{"created", "deleted", "sync", "updated"}

// sketches are the components of the standard packages, by ID. Those that
// decide nothing by themselves are as the newest runtime has them.
var sketches = map[string]sketch{
	"cadence.metronome":    {entity: true, extensions: []string{"cadence"}},
	"configuration.values": {entity: true, extensions: []string{"exposition"}},
	"continuity.journal":   {entity: true},
	"exposition.atom":      {},
	"exposition.octets":    {extensions: []string{"storages"}},
	"identity.bans":        {entity: true, extensions: []string{"exposition"}},
	"identity.basic":       {entity: true, extensions: []string{"configuration", "exposition"}, events: []string{"principal"}},
	"identity.clients":     {entity: true, extensions: []string{"configuration", "exposition", "stash"}},
	"identity.credentials": {extensions: []string{"exposition"}},
	"identity.federation":  {entity: true, extensions: []string{"configuration", "exposition"}, events: []string{"principal"}},
	"identity.grants":      {entity: true, extensions: []string{"configuration", "exposition", "stash"}},
	"identity.keys": {
		entity: true, extensions: []string{"exposition"},
		receives: []string{"identity.bans.created", "identity.bans.updated", "identity.roles.deleted"},
	},
	"identity.otp":      {entity: true, extensions: []string{"configuration", "stash"}},
	"identity.passkeys": {entity: true, extensions: []string{"configuration", "exposition", "stash"}},
	"identity.roles": {
		entity: true, extensions: []string{"exposition"},
		receives: []string{"identity.basic.principal", "identity.federation.principal"},
	},
	"identity.tokens": {
		entity: true, extensions: []string{"configuration", "exposition"},
		receives: []string{"identity.bans.created", "identity.bans.updated"},
	},
	"introspection.edges":   {entity: true, extensions: []string{"exposition"}},
	"introspection.nodes":   {entity: true, extensions: []string{"exposition"}},
	"introspection.signals": {entity: true, extensions: []string{"exposition"}},
}

// signals is what introspection brings only where the context allows halts.
const signals = "introspection.signals"

// brought are the components that a standard package brings into a context that
// says this to it, new ones each time.
func brought(reference string, annotation *document.Value) []*Component {
	if reference == packageIntrospection && refused(annotation) {
		return nil
	}
	var components []*Component
	for _, id := range workspace.Shipped(reference) {
		if id != signals || halts(annotation) {
			components = append(components, sketches[id].component(id))
		}
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

func (s sketch) component(id string) *Component {
	namespace, name, _ := strings.Cut(id, ".")
	c := &Component{
		ID: id, Namespace: namespace, Name: name, Label: namespace + "-" + name,
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
