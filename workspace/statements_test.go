package workspace_test

import (
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"toa.io/toa/document"
	"toa.io/toa/workspace"
)

func TestStatementsAreMerged(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"shortcut", "stash: 1", "1"},
		{"shortcut below", "annotations: {stash: 1}", "1"},
		{"package", "annotations: {'@toa.io/extensions.stash': 1}", "1"},
		{"null", "stash: ~", "null"},
		{"same twice", "stash: [1]\nannotations: {stash: [1]}", "[1]"},
		{"both", "stash: {a: 1, c: {d: 2}}\nannotations: {'@toa.io/extensions.stash': {b: 3, c: {e: 4}}}", `{"a":1,"c":{"d":2,"e":4},"b":3}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			list := load(t, files(contextPath, "name: shop\nregistry: {}\n"+test.text+"\n"), "").Context.Annotations
			if len(list) != 1 || list[0].Package != "@toa.io/extensions.stash" || string(list[0].Value.JSON()) != test.want {
				t.Errorf("Annotations = %+v, want %s", list, test.want)
			}
		})
	}
}

func TestReferencesOfComponents(t *testing.T) {
	tests := []struct{ name, text, storage, prototype, bridge string }{
		{"defaults", "entity: {}", "@toa.io/storages.mongodb", "@toa.io/prototype", "@toa.io/bridges.node"},
		{"no entity", "version: 1", "", "", "@toa.io/bridges.node"},
		{"no entity but a prototype", "prototype: ./base", "", "./components/store.orders/base", "@toa.io/bridges.node"},
		{"null", "entity: {storage: ~}\nprototype: ~", "@toa.io/storages.null", "", "@toa.io/bridges.node"},
		{"shortcuts", "entity: {storage: sql}\nbridge: bash", "@toa.io/storages.sql", "@toa.io/prototype", "@toa.io/bridges.bash"},
		{"packages", "entity: {storage: '@acme/storage'}\nprototype: acme-prototype", "@acme/storage", "acme-prototype", "@toa.io/bridges.node"},
		{"paths", "entity: {storage: ./storage}\nprototype: ./base\nbridge: ./b", "./components/store.orders/storage", "./components/store.orders/base", "./components/store.orders/b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := files(manifestPath, "namespace: store\nname: orders\n"+test.text+"\n")
			for _, dir := range []string{"components/store.orders/base", "node_modules/acme-prototype"} {
				fsys[dir+"/manifest.toa.yaml"] = &fstest.MapFile{Data: []byte("prototype: ~")}
			}
			c := load(t, fsys, "").Components[0]
			if c.Storage != test.storage || c.Prototype != test.prototype || c.Bridge != test.bridge {
				t.Errorf("Component = %q %q %q, want %+v", c.Storage, c.Prototype, c.Bridge, test)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	for reference, want := range map[string]string{
		"realtime": "@toa.io/extensions.exposition#realtime", "queues": "@toa.io/storages.queues", "@acme/x": "@acme/x",
	} {
		if got := workspace.Resolve(reference); got != want {
			t.Errorf("Resolve(%q) = %q, want %q", reference, got, want)
		}
	}
}

// Whatever tree there is and whatever the chain, no key of an environment is
// left but those that start with @.
func TestOverlayLeavesNoVariants(t *testing.T) {
	names := []string{"a", "b", "a@x", "a@y", "b@x", "@p/q", "@p/q@x"}
	rapid.Check(t, func(t *rapid.T) {
		tree := variants(names, 3).Draw(t, "tree")
		chain := rapid.SampledFrom([]string{"", "x", "y", "x:y", "y:x", "z"}).Draw(t, "chain")
		w, err := workspace.Load(files(contextPath, "name: shop\nregistry: {}\nstash: "+tree+"\n"), chain, nil)
		if err != nil {
			t.Fatalf("Load: %v of %s", err, tree)
		}
		assertBare(t, w.Context.Annotations[0].Value)
	})
}

func assertBare(t *rapid.T, v *document.Value) {
	for _, item := range v.Items {
		assertBare(t, item)
	}
	for _, f := range v.Fields {
		if f.Key != "a" && f.Key != "b" && f.Key[0] != '@' {
			t.Fatalf("key %q is left", f.Key)
		}
		assertBare(t, f.Value)
	}
}

// variants is YAML on one line.
func variants(names []string, depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.Bool().Draw(t, "leaf") || depth == 0 {
			return "1"
		}
		below := variants(names, depth-1)
		if rapid.Bool().Draw(t, "list") {
			return "[" + below.Draw(t, "first") + ", " + below.Draw(t, "second") + "]"
		}
		text := "{"
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 4, rapid.ID).Draw(t, "keys") {
			text += "'" + name + "': " + below.Draw(t, "value") + ", "
		}
		return text + "}"
	})
}
