package extensions

import (
	"encoding/json"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/workspace"
)

// Component is a component as packages see it: one of the workspace, or one
// that a package brings along.
type Component struct {
	ID, Namespace, Name, Label string
	// Dir is where it is below the root; empty where a package brings it, which
	// is called Bringer then.
	Dir, Bringer string
	// Evicted components are known and run elsewhere.
	Evicted bool
	// Storage is the reference of the package that keeps its entity, or empty.
	Storage string
	// Bindings are the references of all bindings of its operations and events.
	Bindings []string
	// Extensions are the packages that it declares.
	Extensions []Extension
	Receivers  []Receiver
	// Events are the labels of those it emits.
	Events []string
	// Entity tells that it keeps state.
	Entity bool
	// Contract is what its manifest declares, or nil.
	Contract json.RawMessage
	Position document.Position
}

// Extension is what a component declares for a package: nil for nothing.
type Extension struct {
	Package  string
	Value    *document.Value
	Position document.Position
}

// Receiver is an event that a component consumes, from Source if it is stated
// and from the context itself if not.
type Receiver struct{ Event, Source string }

// variable is "<NAMESPACE>_<NAME>", for names of variables.
func (c *Component) variable() string {
	return strings.ToUpper(underscores.Replace(c.Label))
}

// Instance is a component that uses a package, with what it declares for it.
type Instance struct {
	*Component
	Declaration *document.Value // nil: nothing
	Position    document.Position
}

// Input is what a package is asked with.
type Input struct {
	// Reader takes mistakes of the annotation. The key at hand is the package's.
	Reader *document.Reader
	// Package is the reference and Key what people call it: its shortcut.
	Package, Key string
	// Annotation is the context's, or nil.
	Annotation *document.Value
	// Instances are the components that use the package and are deployed, All
	// also those that are evicted. Both are by ID.
	Instances, All []Instance
	Context        *workspace.Context
}

// read takes the annotation; without one, want is not asked.
func (in Input) read(want document.Want) {
	if in.Annotation != nil {
		in.Reader.Under(in.Key, func() { want.Take(in.Annotation) })
	}
}

// stated tells whether there is an annotation, and reports it if there is none
// although it is needed.
func (in Input) stated(what, example string) bool {
	if in.Annotation != nil {
		return true
	}
	in.Reader.Fail(document.Place{}, "state `"+in.Key+": "+example+"` in "+workspace.ContextFile,
		"%s is missing, expected %s%s", in.Key, what, in.because())
	return false
}

// because names a component that needs the package.
func (in Input) because() string {
	if len(in.Instances) == 0 {
		return ""
	}
	return ", for " + in.Instances[0].called() + " uses it"
}

// called is the ID, and where the component comes from if it is not the
// workspace's own.
func (c *Component) called() string {
	if c.Bringer == "" {
		return c.ID
	}
	return c.ID + " (which " + c.Bringer + " brings)"
}

// fail reports a mistake in what a component declares.
func (i Instance) fail(r *document.Reader, fix, message string) {
	r.Report(&document.Error{Position: i.Position, Msg: "component " + i.ID + ": " + message, Fix: fix})
}

// abridged lists some names, for messages.
func abridged(names []string) string {
	const some = 8
	if len(names) > some {
		return strings.Join(names[:some], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}
