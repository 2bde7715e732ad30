package extensions

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"toa.io/toa/document"
	"toa.io/toa/workspace"
)

// Whatever a context says and a component declares, no package panics, and
// what they make of it can be read.
func FuzzAnnotation(f *testing.F) {
	for _, seed := range [][2]string{
		{"amqp://a-{0-1}", "~"},
		{"{context: {a.b: 'amqp://a'}, sources: {x: ['amqp://b']}}", "[a]"},
		{"{logs: {level: info, a.b: {level: warn}}, traces: {sample: 0.5}, ready: {port: 1}}", "~"},
		{"{halt: {duration: [1, 2]}, resources: {cpu: [1, 2]}}", "false"},
		{"{authorities: {a: b}, mcp: {name: c, hosts: {a: d}}, /: {/x: {GET: {endpoint: a.b.c, query: {limit: 1}}}, /y: /x, dev:stub: {}}}", "~"},
		{"{streams: [redis://a], expire: 1}", "~"},
		{"{a.b: {x: $Y, z: [{k: $W}]}, resources: ~}", "{schema: {properties: {x: {format: secret}, n: 1e400}}, defaults: {x: 1}}"},
		{"{a: {provider: fs, path: /a, claim: c}, b: {provider: cloudinary, environment: e, type: image}}", "[a, b]"},
		{"{priority: 0, binding: {pointer: amqp://x}}", "~"},
		{"{a.b: {x: pubsub:///projects/p/topics/t, .http: {y: true}}}", "{x: ~, own: http://o}"},
		{"pg://a/b/c", "~"},
	} {
		f.Add(seed[0], seed[1])
	}
	references := slices.Sorted(maps.Keys(table))
	f.Fuzz(func(t *testing.T, annotation, declaration string) {
		for _, reference := range references {
			in := Input{
				Reader: document.NewReader(workspace.ContextFile), Package: reference, Key: table[reference].key,
				Annotation: fuzzed(annotation), Context: &workspace.Context{},
			}
			c := &Component{ID: "a.b", Namespace: "a", Name: "b", Label: "a-b", Receivers: []Receiver{{"x.y.z", "x"}}}
			in.All = []Instance{{Component: c, Declaration: fuzzed(declaration)}}
			in.Instances = in.All
			d := table[reference].declare(in)
			if len(in.Reader.Errors()) == 0 {
				readable(t, reference, d)
			}
		}
	})
}

func fuzzed(yaml string) *document.Value {
	r := document.NewReader("")
	root := r.Parse([]byte("it: " + yaml))
	if root == nil || len(r.Errors()) > 0 || root.Find("it") == nil {
		return nil
	}
	return root.Find("it").Value
}

func readable(t *testing.T, reference string, d Declaration) {
	t.Helper()
	var all []Variable
	for _, variables := range d.Variables {
		all = append(all, variables...)
	}
	for _, s := range d.Services {
		all = append(all, s.Variables...)
	}
	for _, v := range all {
		if !strings.HasPrefix(v.Name, "TOA_") || strings.ToUpper(v.Name) != v.Name {
			t.Fatalf("%s makes a variable of the name %q", reference, v.Name)
		}
		if strings.HasPrefix(v.Value, "{") && !json.Valid([]byte(v.Value)) {
			t.Fatalf("%s: %s is %s", reference, v.Name, v.Value)
		}
		if v.Secret != nil && v.Secret.Name == "" {
			t.Fatalf("%s: %s is in no secret", reference, v.Name)
		}
	}
}
