package workspace_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"toa.io/toa/workspace"
)

const tokens = "node_modules/@toa.io/extensions.exposition/components/identity.tokens/manifest.toa.yaml"

// visited is the workspace of three with packages that bring components.
func visited(context string) fstest.MapFS {
	fsys := three(context)
	fsys[tokens] = &fstest.MapFile{Data: []byte("namespace: identity\nname: tokens\nentity: {}\n")}
	fsys["node_modules/@acme/thing/components/acme.jobs/manifest.toa.yaml"] = &fstest.MapFile{Data: []byte("namespace: acme\nname: jobs\n")}
	fsys["node_modules/@acme/thing/package.json"] = &fstest.MapFile{Data: []byte(`{"type": "module"}`)}
	return fsys
}

func TestGuests(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"among others", "compositions: [{name: x, components: [a, identity.tokens]}]", "x[a tokens][] default-b[b][] default-c[c][]"},
		{"alone, twice", "compositions: [{name: x, components: [identity.tokens]}, {name: y, components: [identity.tokens]}]", "x[tokens][] y[tokens][] default-a[a][] default-b[b][] default-c[c][]"},
		{"of a package of others", "annotations: {'@acme/thing': ~}\ncompositions: [{name: x, components: [acme.jobs]}]", "x[jobs][] default-a[a][] default-b[b][] default-c[c][]"},
		{"evicted", "evicted: {components: [identity.tokens]}\ncompositions: [{name: x, components: [identity.tokens, a]}, {name: y, components: [identity.tokens]}]", "x[a][] default-b[b][] default-c[c][]"},
		{"evicted, not installed", "evicted: {components: [identity.otp]}\ncompositions: [{name: x, components: [identity.otp, a]}]", "x[a][] default-b[b][] default-c[c][]"},
		{"evicted, of a package of others", "annotations: {'@acme/thing': ~}\nevicted: {components: [acme.jobs]}", "default-a[a][] default-b[b][] default-c[c][]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := load(t, visited(test.text), "")
			if got := summary(w); got != test.want {
				t.Errorf("Compositions = %s, want %s", got, test.want)
			}
			for _, c := range w.Compositions {
				if c.Image == "" {
					t.Errorf("composition %s has no base image", c.Name)
				}
			}
		})
	}
}

func TestGuestIsReadWhole(t *testing.T) {
	w := load(t, visited("annotations: {'@acme/thing': ~}\ncompositions: [{name: x, components: [acme.jobs, identity.tokens]}]"), "")
	at := slices.IndexFunc(w.Components, func(c *workspace.Component) bool { return c.ID == "identity.tokens" })
	if at < 0 {
		t.Fatal("identity.tokens is not among the components")
	}
	c := w.Components[at]
	if c.Bringer != "@toa.io/extensions.exposition" || c.Storage != "@toa.io/storages.mongodb" || c.Position.File != tokens {
		t.Errorf("%s of %s keeps in %s, from %s", c.ID, c.Bringer, c.Storage, c.Position)
	}
	if jobs := w.Components[0]; jobs.ID != "acme.jobs" || jobs.Module != "module" {
		t.Errorf("%s is %s, want acme.jobs to be of its package's module type", jobs.ID, jobs.Module)
	}
	if w.Together(); len(w.Components) != 3 {
		t.Errorf("%d components together, want the workspace's own", len(w.Components))
	}
}

func TestGuestMistakes(t *testing.T) {
	tests := []struct{ name, text, manifest, want string }{
		{
			"not installed", "compositions: [{name: x, components: [identity.otp]}]", "",
			"context.toa.yaml:3:39: composition \"x\": component \"identity.otp\" is in package @toa.io/extensions.exposition, which is not installed, and the image is made of it\n    run `npm install @toa.io/extensions.exposition` at the workspace root, or leave the component to the service of that package",
		},
		{
			"misspelled", "compositions: [{name: x, components: [identity.token]}]", "",
			"context.toa.yaml:3:39: composition \"x\": expected a component, found \"identity.token\", which does not exist\n    did you mean \"identity.tokens\"?",
		},
		{
			"misspelled, evicted", "evicted: {components: [identity.token]}", "",
			"context.toa.yaml:3:24: evicted.components: expected a component, found \"identity.token\", which does not exist\n    did you mean \"identity.tokens\"?",
		},
		{
			"of a package that nobody names", "compositions: [{name: x, components: [acme.jobs]}]", "",
			"context.toa.yaml:3:39: composition \"x\": expected a component, found \"acme.jobs\", which does not exist",
		},
		{
			"with a mistake of its own", "compositions: [{name: x, components: [identity.tokens]}]", "nmae: tokens\n",
			tokens + ":1:1: unknown key \"nmae\", expected a known one\n    did you mean \"name\"?",
		},
		{
			"of another name", "compositions: [{name: x, components: [identity.tokens]}]", "name: other\n",
			tokens + ":1:7: expected component \"identity.tokens\" in this directory of package @toa.io/extensions.exposition, found \"default.other\"",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := visited(test.text)
			if test.manifest != "" {
				fsys[tokens].Data = []byte(test.manifest)
			}
			_, err := workspace.Load(fsys, "", nil)
			if err == nil || err.Error() != test.want {
				t.Errorf("Load: %v\nwant %s", err, test.want)
			}
		})
	}
}
