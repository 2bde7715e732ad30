package workspace

import (
	"encoding/json"
	"maps"
	"slices"

	"toa.io/toa/document"
)

// contract is the JSON of what a manifest declares for the component map, in
// the order of the manifest.
func contract(root *document.Value) json.RawMessage {
	declared := &document.Value{Kind: document.Object}
	for _, f := range root.Fields {
		if slices.Contains(contracts, f.Key) {
			declared.Fields = append(declared.Fields, f)
		}
	}
	return declared.JSON()
}

// contracts are the keys that go into the component map as they are.
var contracts = []string{
	"bindings", "bridge", "entity", "events", "guards", "operations", "prototype", "receivers",
}

func (r *reader) contractKeys(c *Component) document.Keys {
	prototype := r.reference(&c.Prototype, localReference)
	return document.Keys{
		"entity":   r.entity(c).About("what the component keeps"),
		"bindings": r.references(&c.Bindings, localReference).About("packages that carry calls and events, amqp if not stated"),
		"bridge":   r.reference(&c.Bridge, localReference).About("package that runs the component, node if not stated"),
		"prototype": document.OrNull(prototype, func() { c.Prototype = none }).
			About("package that the component inherits from; null for none"),
		"operations": r.entries(&c.Operations, func(string) document.Want { return r.operation(c) }).About("operations besides those of the directory"),
		"events":     r.entries(&c.Events, func(string) document.Want { return r.event(c) }).About("events besides those of the directory"),
		"receivers":  r.receivers(c).About("what becomes of events, by namespace.component.event"),
		"guards":     r.guards(c).About("guards besides those of the directory"),
	}
}

// none stands for a package that is null while a manifest is being read.
const none = "~"

func (r *reader) entity(c *Component) document.Want {
	storage := r.reference(&c.Storage, localReference)
	return r.Open(described(document.Keys{
		"storage": document.OrNull(storage, func() { c.Storage = packageNull }).
			About("package that keeps it, mongodb if not stated; null for none"),
	}, map[string]string{
		"schema":     "what an object is, in older releases",
		"properties": "what an object is",
		"required":   "properties that must be there",
		"blank":      "whether objects may start empty",
		"associated": "whether others give objects their identity",
		"migrations": "changes to what is kept",
	})).Then(func(*document.Value) { c.HasEntity = true })
}

// operation reads what an operation overrides; the rest is the runtime's.
func (r *reader) operation(c *Component) document.Want {
	own := r.Open(described(document.Keys{
		"bindings": r.references(&c.Uses, localReference).About("packages that carry calls of this operation"),
	}, map[string]string{
		"type": "transition, observation, assignment or another kind", "scope": "what it works on", "query": "whether it takes a query",
		"input": "schema of what it takes", "output": "schema of what it answers", "errors": "codes of errors",
		"concurrency": "what becomes of conflicts", "forward": "operation that it calls", "description": "what it does",
		"bridge": "package that runs it", "stream": "whether it answers a stream", "once": "whether it runs once only",
		"stateful": "whether it keeps something between calls",
	}))
	return document.Choose(own, document.Anything(), document.Object)
}

func (r *reader) event(c *Component) document.Want {
	var binding string
	own := r.Open(described(document.Keys{
		"binding": r.reference(&binding, localReference).About("package that carries the event"),
	}, map[string]string{"schema": "what the event says", "description": "when it happens"}))
	own = own.Then(func(*document.Value) {
		if binding != "" {
			c.Uses = append(c.Uses, binding)
		}
	})
	return document.Choose(own, document.Anything(), document.Object)
}

// receivers are either the name of an operation or an object.
func (r *reader) receivers(c *Component) document.Want {
	var labels []string
	return r.entries(&labels, func(label string) document.Want {
		var source string
		own := r.Open(described(document.Keys{
			"source": r.Text(&source, document.OneWord).About("broker of others that the event comes from"),
		}, map[string]string{
			"operation": "operation that takes the event", "binding": "package that carries the event",
			"arguments": "what is given to the operation besides", "description": "what becomes of the event",
		}))
		return document.Choose(own, document.Anything(), document.Object).Then(func(*document.Value) {
			c.Receivers = append(c.Receivers, receiver(label, source))
		})
	})
}

// receiver completes the name of the event, unless others named it.
func receiver(label, source string) Receiver {
	if source == "" {
		label = completeEvent(label)
	}
	return Receiver{Event: label, Source: source}
}

func (r *reader) guards(c *Component) document.Want {
	names := r.entries(&c.Guards, func(string) document.Want { return document.Anything() })
	list := r.Texts(&c.Guards, document.OneWord)
	neither := r.Some("an object or a list", document.Object, document.List)
	return document.Choose(list, document.Choose(names, neither, document.Object), document.List)
}

// entries reads an object whose keys are names.
func (r *reader) entries(names *[]string, take func(name string) document.Want) document.Want {
	return r.Each(func(name string) document.Want {
		want := take(name)
		return document.Want{Schema: want.Schema, Take: func(v *document.Value) {
			if document.OneWord.Expects(name) != "" || !document.Harmless(name) {
				r.Fail(r.Key(), "", "%s: expected a name without spaces as a key", r.Where())
				return
			}
			*names = append(*names, name)
			want.Take(v)
		}}
	})
}

// described adds keys that are the runtime's business.
func described(known document.Keys, about map[string]string) document.Keys {
	for _, name := range slices.Sorted(maps.Keys(about)) {
		known[name] = document.Anything().About(about[name])
	}
	return known
}
