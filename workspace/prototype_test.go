package workspace_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"toa.io/toa/workspace"
)

// derived is a workspace whose one component inherits, and other manifests by
// their directories. Names that end in anything else are files.
func derived(manifest string, others map[string]string) fstest.MapFS {
	fsys := files(manifestPath, "namespace: store\nname: orders\n"+manifest+"\n")
	for name, text := range others {
		if !strings.HasSuffix(name, ".js") {
			name += "/manifest.toa.yaml"
		}
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

const (
	inside    = "components/store.orders/base"
	installed = "node_modules/@acme/base"
	nearer    = "components/store.orders/node_modules/@acme/base"
)

func TestPrototype(t *testing.T) {
	tests := []struct {
		name, manifest string
		others         map[string]string
		want           string // operations, events, storage
		prototypes     string
	}{
		{"none", "", nil, "[] [] ", "[]"},
		{"standard", "entity: {}", nil, "[] [created deleted sync updated] @toa.io/storages.mongodb", "[@toa.io/prototype]"},
		{
			"inside the component", "prototype: ./base\noperations: {get: ~}\nevents: {made: ~}",
			map[string]string{inside: "operations: {get: ~, set: ~}\nevents: {gone: ~}\nreceivers: {a.b.c: get}\nguards: [g]"},
			"[get set] [gone made] ", "[" + inside + "]",
		},
		{
			"of a package", "prototype: '@acme/base'", map[string]string{installed: "operations: {get: ~}"}, "[get] [] ", "[" + installed + "]",
		},
		{
			"the nearest package", "prototype: '@acme/base'", map[string]string{installed: "operations: {far: ~}", nearer: "operations: {near: ~}"}, "[near] [] ", "[" + nearer + "]",
		},
		{
			"files of directories", "prototype: ./base",
			map[string]string{inside: "name: x", inside + "/operations/find.js": "", inside + "/events/found.js": "", inside + "/receivers/a.b.c.js": ""},
			"[find] [found] ", "[" + inside + "]",
		},
		{
			"an entity of the prototype", "prototype: ./base",
			map[string]string{inside: "entity: {storage: sql}"},
			"[] [created deleted sync updated] @toa.io/storages.sql", "[" + inside + " @toa.io/prototype]",
		},
		{
			"a storage of the prototype", "prototype: ./base\nentity: {}",
			map[string]string{inside: "entity: {storage: sql}\nprototype: ~"},
			"[] [] @toa.io/storages.sql", "[" + inside + "]",
		},
		{
			"a storage of its own", "prototype: ./base\nentity: {storage: mongodb}",
			map[string]string{inside: "entity: {storage: sql}"},
			"[] [created deleted sync updated] @toa.io/storages.mongodb", "[" + inside + " @toa.io/prototype]",
		},
		{
			"a prototype of the prototype", "prototype: ./base",
			map[string]string{inside: "prototype: '@acme/base'\noperations: {a: ~}", installed: "prototype: ./deeper", installed + "/deeper": "operations: {b: ~}"},
			"[a b] [] ", "[" + inside + " " + installed + " " + installed + "/deeper]",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := derived(test.manifest, test.others)
			w := load(t, fsys, "")
			if err := w.Discover(fsys); err != nil {
				t.Fatal(err)
			}
			c := w.Components[0]
			if got := fmt.Sprint(c.Operations, c.Events) + " " + c.Storage; got != test.want {
				t.Errorf("Component = %s, want %s", got, test.want)
			}
			if got := fmt.Sprint(c.Prototypes); got != test.prototypes {
				t.Errorf("Prototypes = %s, want %s", got, test.prototypes)
			}
			if test.name != "none" && (len(c.Receivers) > 0 || len(c.Guards) > 0) {
				t.Errorf("inherits receivers %v, guards %v", c.Receivers, c.Guards)
			}
			if err := w.Carried(); err != nil {
				t.Errorf("Carried: %v", err)
			}
		})
	}
}

// What a component says itself goes before what it inherits, at any depth.
func TestPrototypeIsOverruled(t *testing.T) {
	fsys := derived("prototype: ./base\nentity: {properties: {a: 1}}\noperations: {get: {query: false}}\nevents: {made: ~}\nstash: ~\nstate: {a: 1, deep: {b: 2}}", map[string]string{
		inside: "prototype: ~\nbindings: [http]\nentity: {properties: {a: 9, b: 2}}\noperations: {get: {query: true, bindings: [http]}, set: {input: x}}\n" +
			"events: {made: {binding: ./carrier}}\nstash: {c: 3}\nstate: {a: 9, deep: {b: 9, c: 3}}\ncadence: {d: 4}",
	})
	c := load(t, fsys, "").Components[0]
	want := `{"prototype":"./base","entity":{"properties":{"a":1,"b":2}},"operations":{"get":{"query":false,"bindings":["http"]},"set":{"input":"x"}},"events":{"made":null}}`
	if got := string(c.Contract); got != want {
		t.Errorf("Contract = %s\nwant %s", got, want)
	}
	if !json.Valid(c.Contract) {
		t.Error("the contract is no JSON")
	}
	if got, want := fmt.Sprint(c.Uses), "[./"+inside+"/carrier @toa.io/bindings.amqp]"; got != want {
		t.Errorf("Uses = %s, want %s", got, want)
	}
	said := map[string]string{}
	for _, e := range c.Extensions {
		said[strings.TrimPrefix(e.Package, "@toa.io/extensions.")] = string(e.Value.Unpack().JSON()) + " " + e.Position.File
	}
	for name, want := range map[string]string{
		"stash": `{"c":3} ` + inside + "/manifest.toa.yaml", "state": `{"a":1,"deep":{"b":2,"c":3}} ` + manifestPath,
		"cadence": `{"d":4} ` + inside + "/manifest.toa.yaml", "fetch": "null " + manifestPath,
	} {
		if said[name] != want {
			t.Errorf("%s: %s, want %s", name, said[name], want)
		}
	}
}

func TestPrototypeMistakes(t *testing.T) {
	const at = manifestPath + ":3:12: "
	tests := []struct {
		name, manifest string
		others         map[string]string
		want           string
	}{
		{"not installed", "prototype: '@acme/base'", nil, at + "prototype: expected an installed package that has a manifest.toa.yaml, found \"@acme/base\"\n    run `npm install @acme/base` at the workspace root"},
		{"not there", "prototype: ./none", nil, "components/store.orders/none/manifest.toa.yaml: expected a manifest here, for it is the prototype of a component, found no such file"},
		{"out of the workspace", "prototype: ../../../base", nil, at + "prototype: expected a path inside the workspace, found \"../base\""},
		{"itself", "prototype: ./", nil, at + "prototype: expected an end, found a circle: components/store.orders → components/store.orders\n    let one of them have no prototype"},
		{
			"a circle", "prototype: ./base",
			map[string]string{inside: "prototype: ./more", inside + "/more": "prototype: ../"},
			at + "prototype: expected an end, found a circle: components/store.orders → " + inside + " → " + inside + "/more → " + inside + "\n    let one of them have no prototype",
		},
		{"a mistake in it", "prototype: ./base", map[string]string{inside: "operatoins: {}"}, inside + "/manifest.toa.yaml:1:1: unknown key \"operatoins\", expected a known one\n    did you mean \"operations\"?"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := workspace.Load(derived(test.manifest, test.others), "", nil)
			if err == nil || err.Error() != test.want {
				t.Errorf("Load: %v\nwant %s", err, test.want)
			}
		})
	}
}

// A prototype elsewhere in the workspace may be developed with, but no image
// holds it.
func TestPrototypeElsewhere(t *testing.T) {
	others := map[string]string{"components/base": "name: base\noperations: {get: ~}"}
	w := load(t, derived("prototype: ../base", others), "")
	if c := w.Components[1]; c.ID != "store.orders" || len(c.Operations) != 1 {
		t.Errorf("Component %s has %v", c.ID, c.Operations)
	}
	want := manifestPath + ":3:12: component \"store.orders\": expected its prototype in a package or inside the component, found \"components/base\", which gets into no image\n" +
		"    make a package of it that the component depends on, or move it into the component"
	if err := w.Carried(); err == nil || err.Error() != want {
		t.Errorf("Carried: %v\nwant %s", err, want)
	}
	fsys := derived("prototype: ../base", others)
	fsys[contextPath].Data = append(fsys[contextPath].Data, "\nevicted: {components: [store.orders]}\n"...)
	if err := load(t, fsys, "").Carried(); err != nil {
		t.Errorf("Carried without a component that is evicted: %v", err)
	}
}

// Memos are of single files: with them, nothing is otherwise.
func TestPrototypeWithMemo(t *testing.T) {
	fsys := derived("prototype: ../base\nentity: {}", map[string]string{
		"components/base": "name: base\nprototype: '@acme/base'\nentity: {storage: sql}", installed: "operations: {a: ~}\nevents: {b: ~}",
	})
	m := newMemory()
	for range 3 {
		w, err := workspace.Load(fsys, "", m)
		if err != nil {
			t.Fatal(err)
		}
		c := w.Components[1]
		if got, want := fmt.Sprint(c.Operations, c.Events)+fmt.Sprint(c.Prototypes)+c.Storage, "[a] [b][components/base "+installed+"]@toa.io/storages.sql"; got != want {
			t.Errorf("Component = %s, want %s", got, want)
		}
	}
}
