package extensions_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"toa.io/toa/document"
	"toa.io/toa/extensions"
	"toa.io/toa/workspace"
)

// acme is a package that brings a component, in which that is declared for it.
func acme(dir, sheet string) fstest.MapFS {
	return fstest.MapFS{
		dir + "/package.json":                           {Data: []byte(`{"name":"@acme/thing","version":"1.0.0"}`)},
		dir + "/deployment.toa.yaml":                    {Data: []byte(sheet)},
		dir + "/components/acme.jobs/manifest.toa.yaml": {Data: []byte("namespace: acme\nname: jobs\nentity: {}\nreceivers: { shop.orders.paid: run }\nstash: ~\n")},
	}
}

const acmeSheet = `
standalone: true
components: [acme.jobs]
services: [{ group: acme, name: runner }]
installs: { acme: 1.2.3 }
variables: { components: [{ name: 'ACME_{NAME}', value: 'yes' }] }
`

// What a package brings has all that its manifest needs, and runs in the
// package's service.
func TestForeignBrings(t *testing.T) {
	for name, row := range map[string]struct{ dir, context, manifest string }{
		"used":             {"node_modules/@acme/thing", "", "extensions: { '@acme/thing': ~ }\nevents: { paid: ~, sent: ~ }\n"},
		"of a path":        {"packages/thing", "", "extensions: { ../../packages/thing: ~ }\nevents: { paid: ~, sent: ~ }\n"},
		"annotated only":   {"node_modules/@acme/thing", "annotations: { '@acme/thing': {} }\n", "events: { paid: ~, sent: ~ }\n"},
		"of a composition": {"node_modules/@acme/thing", "compositions: [{ name: edge, components: [shop.orders], services: ['@acme/thing'] }]\n", "events: { paid: ~, sent: ~ }\n"},
	} {
		t.Run(name, func(t *testing.T) {
			ws := written(t, plain+row.context, map[string]string{"shop.orders": row.manifest})
			root := acme(row.dir, acmeSheet)
			d := declared(t, ws, extensions.Options{Packages: root, Foreign: extensions.Declarative{Root: root}})
			id := "service/acme-runner"
			if name == "of a composition" {
				id = "composition/edge"
			}
			u := unit(t, d, id)
			for variable, want := range map[string]string{
				"TOA_MONGODB_ACME_JOBS": "mongodb://mongo", "TOA_STASH_ACME_JOBS": "redis://stash", "TOA_EVENTS_ACME_JOBS": "",
			} {
				if got := value(u, variable); got != want {
					t.Errorf("%s = %q, want %q", variable, got, want)
				}
			}
			if u.Installs["acme"] != "1.2.3" {
				t.Errorf("installs %v, want acme", u.Installs)
			}
			if got := d.Variables["shop-orders"]; !strings.Contains(drawnVariables(got), "TOA_EVENTS_SHOP_ORDERS=paid\n") {
				t.Errorf("what the component receives is not sent: %v", got)
			}
		})
	}
}

func drawnVariables(all []extensions.Variable) string {
	var out strings.Builder
	drawVariables(&out, all)
	return out.String()
}

// Packages are needed where they are used, as standard ones are, and not by all.
func TestDeclarativeInstalls(t *testing.T) {
	ws := written(t, plain, map[string]string{"shop.orders": "extensions: { '@acme/thing': ~ }\n", "carts": "name: carts\n"})
	root := acme("node_modules/@acme/thing", acmeSheet)
	d := declared(t, ws, extensions.Options{Foreign: extensions.Declarative{Root: root}})
	for id, want := range map[string]string{"composition/shop-orders": "1.2.3", "service/acme-runner": "1.2.3", "composition/default-carts": ""} {
		if got := unit(t, d, id).Installs["acme"]; got != want {
			t.Errorf("%s installs acme %q, want %q", id, got, want)
		}
	}
}

// The annotation of a package is under its name, also where a component calls
// it by a path.
func TestAnnotationOfPath(t *testing.T) {
	ws := written(t, plain+"annotations: { '@acme/thing': { size: 1 } }\n",
		map[string]string{"shop.orders": "extensions: { ../../packages/thing: ~ }\n"})
	var a asking
	d := declared(t, ws, extensions.Options{Packages: acme("packages/thing", ""), Foreign: &a})
	if a.reference != "./packages/thing" || string(a.request.Annotation) != `{"size":1}` {
		t.Errorf("asked %q with %s", a.reference, a.request.Annotation)
	}
	for _, n := range d.Notices {
		if strings.Contains(n.Text, "@acme/thing") {
			t.Errorf("notice %q", n.Text)
		}
	}
}

func TestIntroductionFails(t *testing.T) {
	for sheet, want := range map[string]string{
		"standalone: 1":           "standalone: expected true or false",
		"components: [jobs]":      "expected namespace.component",
		"components: [acme.none]": "node_modules/@acme/thing/components/acme.none/manifest.toa.yaml: expected a manifest",
	} {
		ws := written(t, plain, map[string]string{"shop.orders": "extensions: { '@acme/thing': ~ }\n"})
		_, err := extensions.Declare(t.Context(), ws, extensions.Options{Foreign: extensions.Declarative{Root: acme("node_modules/@acme/thing", sheet)}})
		var mistakes *document.Errors
		if !errors.As(err, &mistakes) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", sheet, want, err)
		}
	}
	ws := written(t, plain+"annotations: { '@acme/other': ~ }\n", nil)
	_, err := extensions.Declare(t.Context(), ws, extensions.Options{Foreign: shy{}})
	if err == nil || err.Error() != "ask package @acme/other: not today" {
		t.Errorf("a package that cannot be asked: %v", err)
	}
}

// shy fails as soon as it is asked what it is.
type shy struct{ failing }

func (shy) Introduce(context.Context, string, string, json.RawMessage) (extensions.Introduction, error) {
	return extensions.Introduction{}, errors.New("not today")
}

// Every component that a standard package ships is known by one package only,
// and what matters of it is known.
func TestShippedAreKnown(t *testing.T) {
	ws := written(t, plain+"exposition: { authorities: { main: example.com } }\ncadence: ~\n", map[string]string{"shop.orders": "continuity: ~\nconfiguration: ~\nexposition: ~\nstorages: ~\n"})
	ws.Context.Annotations = without(ws.Context.Annotations, "@toa.io/extensions.introspection")
	d := declared(t, ws, extensions.Options{})
	seen := map[string]bool{}
	for _, reference := range []string{"cadence", "configuration", "continuity", "exposition", "introspection"} {
		for _, id := range workspace.Shipped("@toa.io/extensions." + reference) {
			if seen[id] {
				t.Errorf("%s is brought twice", id)
			}
			seen[id] = true
			label := strings.ReplaceAll(id, ".", "-")
			stateless := id == "exposition.atom" || id == "exposition.octets" || id == "identity.credentials"
			if _, some := d.Variables[label]; some == stateless && id != "introspection.signals" {
				t.Errorf("%s: variables %t, want %t", id, some, !stateless)
			}
		}
	}
	if len(seen) != 19 {
		t.Errorf("%d components, want 19", len(seen))
	}
}

func without(all []workspace.Annotation, reference string) []workspace.Annotation {
	var rest []workspace.Annotation
	for _, a := range all {
		if a.Package != reference {
			rest = append(rest, a)
		}
	}
	return rest
}
