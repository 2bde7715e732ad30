package workspace_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"toa.io/toa/workspace"
)

// three are components a, b and c.
func three(context string) fstest.MapFS {
	fsys := fstest.MapFS{contextPath: {Data: []byte("name: shop\nregistry: {}\n" + context + "\n")}}
	for _, name := range []string{"a", "b", "c"} {
		fsys["components/"+name+"/manifest.toa.yaml"] = &fstest.MapFile{Data: []byte("name: " + name + "\n")}
	}
	return fsys
}

// summary names compositions with their members and services.
func summary(w *workspace.Workspace) string {
	var out []string
	for _, c := range w.Compositions {
		var members []string
		for _, one := range c.Components {
			members = append(members, one.Name)
		}
		out = append(out, fmt.Sprintf("%s%v%v", c.Name, members, c.Services))
	}
	return strings.Join(out, " ")
}

func TestEvicted(t *testing.T) {
	const compositions = "compositions:\n  - {name: x, components: [a, b], services: [stash, state]}\n  - {name: y, components: [b]}\n"
	tests := []struct{ name, text, evicted, want string }{
		{"nothing", "", "", "x[a b][@toa.io/extensions.stash @toa.io/extensions.state] y[b][] default-c[c][]"},
		{"member", "evicted: {components: [a]}", "a", "x[b][@toa.io/extensions.stash @toa.io/extensions.state] y[b][] default-c[c][]"},
		{"all members", "evicted: {components: [default.b, a]}", "ab", "default-c[c][]"},
		{"in no composition", "evicted: {components: [c]}", "c", "x[a b][@toa.io/extensions.stash @toa.io/extensions.state] y[b][]"},
		{"everything", "evicted: {components: [a, b, c]}", "abc", ""},
		{"service", "evicted: {services: ['@toa.io/extensions.stash', cadence]}", "", "x[a b][@toa.io/extensions.state] y[b][] default-c[c][]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := load(t, three(compositions+test.text), "")
			if got := summary(w); got != test.want {
				t.Errorf("Compositions = %s, want %s", got, test.want)
			}
			evicted := ""
			for _, c := range w.Components {
				if c.Evicted {
					evicted += c.Name
				}
			}
			if evicted != test.evicted || len(w.Components) != 3 {
				t.Errorf("%d components, %q of them evicted, want %q of three", len(w.Components), evicted, test.evicted)
			}
		})
	}
}

// A component that agrees with nobody else is no matter once it is gone.
func TestEvictedHasNoBaseImage(t *testing.T) {
	fsys := three("compositions: [{name: x, components: [a, b]}]\nevicted: {components: [a]}")
	fsys["components/a/manifest.toa.yaml"].Data = []byte("name: a\nbuild: {image: scratch}\n")
	if got := load(t, fsys, "").Compositions[0].Image; !strings.HasPrefix(got, "ghcr.io/toa-io/runtime:") {
		t.Errorf("Image = %q, want the runtime's", got)
	}
}

func TestEvictedThatDoesNotExist(t *testing.T) {
	_, err := workspace.Load(files(contextPath, "name: shop\nregistry: {}\nevicted: {components: [store.order]}\n"), "", nil)
	want := "context.toa.yaml:3:24: evicted.components: expected a component, found \"store.order\", which does not exist\n    did you mean \"store.orders\"?"
	if err == nil || err.Error() != want {
		t.Errorf("Load: %v, want %s", err, want)
	}
}
