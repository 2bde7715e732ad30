package workspace_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"toa.io/toa/workspace"
)

func TestOverlay(t *testing.T) {
	tests := []struct{ name, text, environment, want string }{
		{"none", "description: a\ndescription@dev: b", "", "a"},
		{"one", "description: a\ndescription@dev: b", "dev", "b"},
		{"another", "description: a\ndescription@dev: b", "prod", "a"},
		{"order in the file does not count", "description@dev: b\ndescription: a", "dev", "b"},
		{"suffixed only", "description@dev: b", "dev", "b"},
		{"suffixed only, elsewhere", "description@dev: b", "prod", ""},
		{"first of a chain", "description@a: 1\ndescription@b: 2", "a:b", "1"},
		{"first of a chain, other order", "description@a: 1\ndescription@b: 2", "b:a", "2"},
		{"second of a chain", "description: 0\ndescription@b: 2", "a:b", "2"},
		{"behind a second @", "description: a\ndescription@dev@x: b", "dev", "b"},
		{"case counts", "description: a\ndescription@Dev: b", "dev", "a"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := load(t, files(contextPath, "name: shop\nregistry: {}\n"+test.text+"\n"), test.environment)
			if w.Context.Description != test.want {
				t.Errorf("description = %q, want %q", w.Context.Description, test.want)
			}
			if first, _, _ := strings.Cut(test.environment, ":"); w.Environment != first {
				t.Errorf("Environment = %q, want %q", w.Environment, first)
			}
		})
	}
}

func TestOverlayBelow(t *testing.T) {
	const text = `
name: shop
registry:
  base: local
  base@prod: example.com
  platforms@dev: ~
registry@ci: {base: ci}
compositions:
  - name: edge
    replicas: 1
    replicas@prod: 5
    components: [store.orders]
compositions@none: ~
exposition:
  '@acme/x@prod': {a@prod: 1}
`
	tests := []struct {
		environment, base string
		platforms         int
		replicas          int
	}{
		{"", "local", 2, 1},
		{"prod", "example.com", 2, 5},
		{"dev", "local", 0, 1},
		{"dev:prod", "example.com", 0, 5},
		{"ci:prod", "ci", 2, 5}, // the value that wins replaces the other whole
	}
	for _, test := range tests {
		t.Run(test.environment, func(t *testing.T) {
			w := load(t, files(contextPath, text), test.environment)
			registry, replicas := w.Context.Registry, w.Compositions[0].Replicas
			if registry.Base != test.base || len(registry.Platforms) != test.platforms || replicas != test.replicas {
				t.Errorf("base %q, platforms %q, replicas %d, want %+v", registry.Base, registry.Platforms, replicas, test)
			}
			if got := w.Context.Annotations[0].Value.Fields[0].Key; got != "@acme/x@prod" {
				t.Errorf("a key that starts with @ became %q", got)
			}
		})
	}
	_, err := workspace.Load(files(contextPath, text), "none", nil)
	if want := "context.toa.yaml:13:20: compositions: expected a list, found null"; err == nil || err.Error() != want {
		t.Errorf("Load: %v, want %s", err, want)
	}
}

func TestEnvironmentNames(t *testing.T) {
	for _, environment := range []string{":", "a:", ":a", "a::b", "\x1b:"} {
		_, err := workspace.Load(files(), environment, nil)
		want := fmt.Sprintf("context.toa.yaml: environment %q: expected names joined by single colons, found an empty one", environment)
		if err == nil || err.Error() != want {
			t.Errorf("Load in %q: %v, want %s", environment, err, want)
		}
	}
}

func TestOverlayMistakes(t *testing.T) {
	const text = "name: shop\nname@dev@1: a\nname@dev@2: b\nregistry: {}\n"
	_, err := workspace.Load(files(contextPath, text), "dev", nil)
	want := "context.toa.yaml:3:1: duplicate key \"name@dev@2\": what follows a second @ does not count\n    keep one of them"
	if err == nil || err.Error() != want {
		t.Errorf("Load: %v, want %s", err, want)
	}
	_, err = workspace.Load(files(contextPath, "name: shop\nname@dev: [1]\nregistry: {}\n"), "dev", nil)
	if want := "context.toa.yaml:2:11: name: expected text, found a list"; err == nil || err.Error() != want {
		t.Errorf("Load: %v, want %s", err, want)
	}
}

// Whatever variants there are and whatever the chain, the first name of the
// chain that has a variant decides, else the bare key, else the default.
func TestOverlayProperty(t *testing.T) {
	environments := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(t *rapid.T) {
		variants := rapid.SliceOfNDistinct(rapid.SampledFrom(append(environments, "")), 0, 5, rapid.ID).Draw(t, "variants")
		chain := rapid.SliceOfN(rapid.SampledFrom(environments), 1, 4).Draw(t, "chain")
		var text strings.Builder
		text.WriteString("registry: {}\nname: shop\nrelease:\n  wait: true\n")
		for _, variant := range variants {
			key := strings.TrimSuffix("namespace@"+variant, "@")
			fmt.Fprintf(&text, "  %s: ns-%s\n", key, variant+"x")
		}
		w, err := workspace.Load(files(contextPath, text.String()), strings.Join(chain, ":"), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		for _, name := range append(chain, "") {
			if slices.Contains(variants, name) {
				want = "ns-" + name + "x"
				break
			}
		}
		if got := w.Context.Release.Namespace; got != want {
			t.Fatalf("namespace = %q, want %q of\n%s", got, want, text.String())
		}
	})
}

// tree is a value with keys for some environments at any depth, as text of YAML
// that JSON is.
func tree(t *rapid.T, depth int) any {
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 1:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") * depth {
			list = append(list, tree(t, depth-1))
		}
		return list
	case 2:
		object := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(t, "keys") * min(depth, 1) {
			base := rapid.SampledFrom([]string{"x", "y", "@acme/z", "@acme/z@a"}).Draw(t, "base")
			object[base+rapid.SampledFrom([]string{"", "@a", "@b", "@c"}).Draw(t, "suffix")] = tree(t, depth-1)
		}
		return object
	default:
		return rapid.SampledFrom([]string{"one", "two@a", "@three"}).Draw(t, "text")
	}
}

// chosen is what has to be left of a tree for a chain.
func chosen(v any, chain []string) any {
	switch v := v.(type) {
	case []any:
		list := []any{}
		for _, item := range v {
			list = append(list, chosen(item, chain))
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for key := range v {
			base := key
			if !strings.HasPrefix(key, "@") {
				base, _, _ = strings.Cut(key, "@")
			}
			if winner, some := winning(v, base, chain); some {
				object[base] = chosen(v[winner], chain)
			}
		}
		return object
	default:
		return v
	}
}

func winning(v map[string]any, base string, chain []string) (key string, some bool) {
	if !strings.HasPrefix(base, "@") {
		for _, name := range chain {
			if _, some := v[base+"@"+name]; some {
				return base + "@" + name, true
			}
		}
	}
	_, some = v[base]
	return base, some
}

// Whatever a tree looks like and whatever the chain, no key of an environment is
// left at any depth: only names of packages keep their @.
func TestOverlayLeavesNoEnvironment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stated := tree(t, 3)
		environments := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "d"}), 1, 3).Draw(t, "chain")
		text, err := json.Marshal(map[string]any{"@acme/x": stated})
		if err != nil {
			t.Fatal(err)
		}
		w, err := workspace.Load(files(contextPath, "name: shop\nregistry: {}\nannotations: "+string(text)+"\n"), strings.Join(environments, ":"), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(w.Context.Annotations[0].Value.JSON(), &got); err != nil {
			t.Fatal(err)
		}
		if want := chosen(stated, environments); !reflect.DeepEqual(got, want) {
			t.Fatalf("left %v\nwant %v\nof   %s", got, want, text)
		}
	})
}

func TestMerge(t *testing.T) {
	const text = `
name: shop
registry:
  <<: [{base: first, credentials: one}, {base: second, services: published}]
  base: own
compositions:
  - &edge
    name: edge
    components: [store.orders]
    replicas: 3
  - <<: *edge
    name: other
`
	w := load(t, files(contextPath, text), "")
	registry := w.Context.Registry
	if registry.Base != "own" || registry.Credentials != "one" || registry.Services != "published" {
		t.Errorf("Registry = %+v, want own base, first credentials, second services", registry)
	}
	other := w.Compositions[1]
	if other.Name != "other" || other.Replicas != 3 || len(other.Components) != 1 {
		t.Errorf("Composition = %+v, want other with what edge has", other)
	}
}

func TestAliases(t *testing.T) {
	w := load(t, files(manifestPath, "namespace: store\nname: orders\nentity: {a: &x {b: &y 1}, c: *x, *y : *y}\n"), "")
	if got, want := string(w.Components[0].Contract), `{"entity":{"a":{"b":1},"c":{"b":1},"1":1}}`; got != want {
		t.Errorf("Contract = %s, want %s", got, want)
	}
}
