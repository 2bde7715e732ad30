package extensions_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"toa.io/toa/document"
	"toa.io/toa/extensions"
	"toa.io/toa/workspace"
)

// plain is a context that needs little; tests add to it.
const plain = `
name: plain
registry: localhost:5000
resources: ~
introspection: false
amqp: amqp://rabbit
mongodb: mongodb://mongo
stash: redis://stash
ingress: { hosts: [example.com] }
`

// written is a workspace of a context and of manifests by directory.
func written(t testing.TB, context string, manifests map[string]string) *workspace.Workspace {
	t.Helper()
	root := fstest.MapFS{workspace.ContextFile: {Data: []byte(context)}}
	if len(manifests) == 0 {
		manifests = map[string]string{"shop.orders": "entity: {}\n"}
	}
	for dir, manifest := range manifests {
		root["components/"+dir+"/"+workspace.ManifestFile] = &fstest.MapFile{Data: []byte(manifest)}
	}
	ws, err := workspace.Load(root, "", nil)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return ws
}

func declared(t *testing.T, ws *workspace.Workspace, o extensions.Options) *extensions.Deployment {
	t.Helper()
	d, err := extensions.Declare(t.Context(), ws, o)
	if err != nil {
		t.Fatalf("declare: %v", err)
	}
	return d
}

func unit(t *testing.T, d *extensions.Deployment, id string) extensions.Unit {
	t.Helper()
	for _, u := range d.Units {
		if string(u.ID) == id {
			return u
		}
	}
	t.Fatalf("no unit %s among %d", id, len(d.Units))
	return extensions.Unit{}
}

func value(u extensions.Unit, name string) string {
	for _, v := range u.Variables {
		if v.Name == name {
			return v.Value
		}
	}
	return "(none)"
}

func TestRefused(t *testing.T) {
	const exposed = plain + "exposition: { authorities: { main: example.com } }\n"
	for _, row := range []struct {
		name, context string
		manifests     map[string]string
		mono          bool
		want          []string
	}{
		{
			name: "no resources", context: strings.Replace(plain, "resources: ~", "", 1) + "cadence: ~\ncompositions: [{ name: edge, components: [shop.orders] }]\n",
			want: []string{
				"context.toa.yaml:11:24: composition edge: expected resources to be stated",
				"context.toa.yaml:10:1: service cadence-metronome: expected resources to be stated",
			},
		},
		{
			name: "no resources of mono", context: strings.Replace(plain, "resources: ~", "", 1), mono: true,
			want: []string{"mono: expected resources to be stated"},
		},
		{
			name: "no hosts", context: strings.Replace(strings.Replace(exposed, "introspection: false", "", 1), "ingress: { hosts: [example.com] }", "", 1),
			want: []string{"service introspection-explorer: expected hosts for the ingress of service introspection-explorer"},
		},
		{
			name: "a port twice in a composition", mono: false,
			context:   exposed + "telemetry: { ready: { port: 8004 } }\ncompositions: [{ name: edge, components: [shop.orders], services: [exposition] }]\n",
			manifests: map[string]string{"shop.orders": "exposition: { /: { GET: find } }\n"},
			want: []string{"composition edge: expected every port to be taken once, found 8004 taken by the readiness probe " +
				"and by the readiness probe of service exposition-gateway"},
		},
		{
			name: "a port twice in mono", mono: true,
			context:   exposed + "telemetry: { ready: { port: 8000 } }\n",
			manifests: map[string]string{"shop.orders": "exposition: { /: { GET: find } }\n"},
			want:      []string{"mono: expected every port to be taken once, found 8000 taken by the readiness probe and by service exposition-gateway"},
		},
		{
			name: "a package without a service", context: plain + "compositions: [{ name: edge, components: [shop.orders], services: [stash] }]\n",
			want: []string{`composition edge: expected packages with a service under services, found "@toa.io/extensions.stash"`},
		},
		{
			name: "a service that is refused", context: plain + "compositions: [{ name: edge, components: [shop.orders], services: [introspection] }]\n",
			want: []string{`composition edge: expected packages with a service`},
		},
		{
			name: "several packages at once", context: strings.Replace(plain, "amqp: amqp://rabbit", "amqp: [rabbit]", 1) + "telemetry: { lgos: {} }\n",
			manifests: map[string]string{"shop.orders": "operations: { find: { output: string } }\n"},
			want:      []string{"context.toa.yaml:6:8: amqp[0]: expected an address", `context.toa.yaml:10:14: unknown key "lgos" in telemetry`},
		},
		{
			name: "a package that nobody knows", context: plain, manifests: map[string]string{"shop.orders": "extensions: { '@acme/thing': ~ }\n"},
			want: []string{`components/shop.orders/manifest.toa.yaml:1:15: expected a standard package or one that says what it needs, found "@acme/thing", which component shop.orders uses`},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := extensions.Declare(t.Context(), written(t, row.context, row.manifests), extensions.Options{Mono: row.mono})
			if err == nil {
				t.Fatal("it is declared")
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in\n%v", want, err)
				}
			}
		})
	}
}

func TestUnknownPackageNamesBothWays(t *testing.T) {
	ws := written(t, plain, map[string]string{"shop.orders": "extensions: { '@acme/thing': ~ }\n"})
	_, err := extensions.Declare(t.Context(), ws, extensions.Options{})
	var unknown *extensions.UnknownPackageError
	if !errors.As(err, &unknown) || unknown.Package != "@acme/thing" || unknown.Component != "shop.orders" || unknown.Position.Line != 1 {
		t.Fatalf("got %+v", err)
	}
	for _, way := range []string{extensions.DeploymentFile, "Node.js"} {
		if !strings.Contains(unknown.Hint(), way) {
			t.Errorf("hint lacks %s: %s", way, unknown.Hint())
		}
	}
}

func TestEvictedNeedNothing(t *testing.T) {
	ws := written(t, plain+"evicted: { components: [shop.gone] }\n", map[string]string{
		"shop.orders": "entity: {}\nevents: { paid: ~, sent: ~ }\n",
		"shop.gone":   "entity: {}\nextensions: { '@acme/thing': ~ }\nexposition: ~\nreceivers: { shop.orders.paid: count }\n",
	})
	d := declared(t, ws, extensions.Options{})
	if len(d.Units) != 1 || d.Units[0].ID != "composition/shop-orders" {
		t.Errorf("units: %v", d.Units)
	}
	if got := value(d.Units[0], "TOA_EVENTS_SHOP_ORDERS"); got != "paid" {
		t.Errorf("what an evicted component receives is %q, want paid", got)
	}
	if _, some := d.Variables["identity-basic"]; some && value(d.Units[0], "TOA_MONGODB_IDENTITY_BASIC") != "(none)" {
		t.Error("what only an evicted component brings is deployed")
	}
}

func TestEvictedService(t *testing.T) {
	d := declared(t, written(t, plain+"cadence: { regions: [1] }\nevicted: { services: [cadence] }\n", nil), extensions.Options{})
	if len(d.Units) != 1 || len(d.Services) != 0 {
		t.Errorf("units %v, services %v", d.Units, d.Services)
	}
	if got := value(d.Units[0], "TOA_CADENCE_REGIONS"); got != "1" {
		t.Errorf("what else the package says is lost: %q", got)
	}
}

func TestHostedService(t *testing.T) {
	ws := written(t, plain+`
exposition: { authorities: { main: example.com }, resources: { memory: [1Gi, 1Gi] } }
compositions: [{ name: Edge, components: [shop.orders], services: [exposition], resources: { memory: [1Mi, 100Mi] } }]
`, nil)
	d := declared(t, ws, extensions.Options{})
	u := unit(t, d, "composition/edge")
	for name, want := range map[string]string{
		"TOA_TELEMETRY_READY":        `{"enabled":true,"path":"/.ready","port":8001}`, // the composition's own goes first
		"TOA_EXPOSITION_PROPERTIES":  `{"authorities":{"main":"example.com"}}`,
		"TOA_MONGODB_IDENTITY_BASIC": "mongodb://mongo",
		"NODE_OPTIONS":               "--max-old-space-size=75",
	} {
		if got := value(u, name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if u.Probe == nil || u.Probe.Port != 8004 {
		t.Errorf("probe %+v, want that of the gateway", u.Probe)
	}
	if !slices.Equal(u.Packages, []string{"@toa.io/extensions.exposition"}) || len(u.Backends) != 1 {
		t.Errorf("packages %v, backends %v", u.Packages, u.Backends)
	}
	if !slices.Equal(d.Services[0].Hosts, []string{"Edge"}) && !slices.Equal(d.Services[1].Hosts, []string{"Edge"}) {
		t.Errorf("services %v", d.Services)
	}
}

func TestNodeOptionsThatAreStated(t *testing.T) {
	d := declared(t, written(t, strings.Replace(plain, "resources: ~", "resources: { memory: [1Gi, 1Gi] }", 1), nil), extensions.Options{})
	if got := value(d.Units[0], "NODE_OPTIONS"); got != "--max-old-space-size=768" {
		t.Errorf("got %q", got)
	}
	foreign := answering{Variables: map[string][]extensions.Variable{extensions.Global: {{Name: "NODE_OPTIONS", Value: "--own"}}}}
	ws := written(t, strings.Replace(plain, "resources: ~", "resources: { memory: [1Gi, 1Gi] }", 1),
		map[string]string{"shop.orders": "extensions: { '@acme/thing': ~ }\n"})
	if got := value(declared(t, ws, extensions.Options{Foreign: foreign}).Units[0], "NODE_OPTIONS"); got != "--own" {
		t.Errorf("what is stated is overruled: %q", got)
	}
}

func TestLimitOfForeignService(t *testing.T) {
	foreign := answering{Services: []extensions.Service{{
		Group: "acme", Name: "thing", Resources: &extensions.Resources{Memory: &[2]string{"1Mi", "much"}},
	}}}
	ws := written(t, plain, map[string]string{"shop.orders": "extensions: { '@acme/thing': ~ }\n"})
	_, err := extensions.Declare(t.Context(), ws, extensions.Options{Foreign: foreign})
	const want = `service acme-thing: resources.memory: expected an amount of memory such as 512Mi, found "much"`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %q, got %v", want, err)
	}
}

// answering is a foreign package.
type answering extensions.Declaration

func (a answering) Describe(context.Context, string, string, extensions.Request) (extensions.Declaration, error) {
	return extensions.Declaration(a), nil
}

func (a answering) Introduce(context.Context, string, string, json.RawMessage) (extensions.Introduction, error) {
	return extensions.Introduction{}, nil
}

// asking keeps what a foreign package was told.
type asking struct {
	reference, from string
	request         extensions.Request
}

func (a *asking) Introduce(context.Context, string, string, json.RawMessage) (extensions.Introduction, error) {
	return extensions.Introduction{}, nil
}

func (a *asking) Describe(_ context.Context, reference, from string, request extensions.Request) (extensions.Declaration, error) {
	*a = asking{reference, from, request}
	return extensions.Declaration{Services: []extensions.Service{{Group: "acme", Name: "thing", Port: 9000}}}, nil
}

func TestForeign(t *testing.T) {
	ws := written(t, plain+"'annotations': { '@acme/thing': { size: 1 } }\n", map[string]string{
		"shop.orders": "extensions: { '@acme/thing': { a: 1 } }\n", "carts": "entity: {}\n",
	})
	var a asking
	d := declared(t, ws, extensions.Options{Foreign: extensions.Several{extensions.Declarative{Root: fstest.MapFS{}}, &a}})
	if a.reference != "@acme/thing" || a.from != "components/shop.orders" {
		t.Errorf("asked %q from %q", a.reference, a.from)
	}
	told, err := json.Marshal(a.request)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"annotation":{"size":1}`, `"id":"shop.orders"`, `"uppercase":"SHOP_ORDERS"`, `"manifest":{"a":1}`} {
		if !strings.Contains(string(told), want) {
			t.Errorf("want %s in %s", want, told)
		}
	}
	if s := unit(t, d, "service/acme-thing").Service; s.Package != "@acme/thing" {
		t.Errorf("the service belongs to %q", s.Package)
	}
}

func TestForeignFails(t *testing.T) {
	ws := written(t, plain, map[string]string{"shop.orders": "extensions: { '@acme/thing': ~ }\n"})
	_, err := extensions.Declare(t.Context(), ws, extensions.Options{Foreign: failing{}})
	if err == nil || err.Error() != "ask package @acme/thing: no" {
		t.Errorf("got %v", err)
	}
}

type failing struct{}

func (failing) Introduce(context.Context, string, string, json.RawMessage) (extensions.Introduction, error) {
	return extensions.Introduction{}, extensions.ErrUndescribed
}

func (failing) Describe(context.Context, string, string, extensions.Request) (extensions.Declaration, error) {
	return extensions.Declaration{}, errors.New("no")
}

// The schema of a component that a package brings is that of the package.
func TestBroughtConfiguration(t *testing.T) {
	ws := written(t, plain+"exposition: { authorities: { main: example.com } }\nconfiguration: { identity.tokens: { lifetime: 60 } }\n",
		map[string]string{"shop.orders": "exposition: ~\n"})
	installed := fstest.MapFS{"node_modules/@toa.io/extensions.exposition/components/identity.tokens/manifest.toa.yaml": {
		Data: []byte("configuration: { schema: { type: object }, defaults: { lifetime: 1, refresh: 2 } }\n"),
	}}
	for want, packages := range map[string]fs.FS{
		`"identity.tokens":{"defaults":{"lifetime":60}}`:                     nil,
		`"schema":{"type":"object"},"defaults":{"lifetime":60,"refresh":2}}`: installed,
	} {
		d := declared(t, ws, extensions.Options{Packages: packages})
		got := value(unit(t, d, "service/configuration-values"), "TOA_CONFIGURATION_VALUES")
		if !strings.Contains(got, want) {
			t.Errorf("want %s in %s", want, got)
		}
		noticed := slices.ContainsFunc(d.Notices, func(n document.Notice) bool { return strings.Contains(n.Text, "identity.tokens") })
		if noticed != (packages == nil) {
			t.Errorf("notices: %v", d.Notices)
		}
	}
}

func TestUnusedAnnotation(t *testing.T) {
	d := declared(t, written(t, plain+"realtime: { streams: 'redis://a' }\n", map[string]string{"shop.orders": "entity: { properties: { a: string } }\noperations: { find: { output: string } }\n"}), extensions.Options{})
	var got []string
	for _, n := range d.Notices {
		got = append(got, n.Positions[0].String()+" "+n.Text)
	}
	for _, want := range []string{
		"context.toa.yaml:10:1 what the context says to realtime has no effect, for nothing that is deployed uses it",
		"context.toa.yaml:8:1 what the context says to stash has no effect, for nothing that is deployed uses it",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("want %q among %q", want, got)
		}
	}
	if len(got) != 2 {
		t.Errorf("got %q", got)
	}
}

func TestSecretsOnce(t *testing.T) {
	optional := extensions.Variable{Name: "A", Secret: &extensions.Secret{Name: "s", Key: "k", Optional: true}}
	needed := extensions.Variable{Name: "B", Secret: &extensions.Secret{Name: "s", Key: "k"}}
	ws := written(t, strings.NewReplacer("amqp: amqp://rabbit", "amqp: { context: { unused: 'amqp://a' } }").Replace(plain),
		map[string]string{"shop.orders": "extensions: { '@acme/thing': ~ }\n"})
	d := declared(t, ws, extensions.Options{Foreign: answering{Variables: map[string][]extensions.Variable{"shop-orders": {optional, needed}}}})
	var got []extensions.Secret
	for _, s := range d.Secrets {
		if s.Name == "s" {
			got = append(got, s)
		}
	}
	if len(got) != 1 || got[0].Optional {
		t.Errorf("got %v, want one that is needed", got)
	}
}

func TestDeclarative(t *testing.T) {
	const sheet = `
variables:
  global:
    - { name: ACME, value: '1' }
  components:
    - { name: 'ACME_{NAMESPACE}_{NAME}', value: '{id} {label}' }
    - { name: 'ACME_{NAMESPACE}_{NAME}_KEY', secret: { name: 'acme-{label}', key: key, optional: true } }
mounts:
  components:
    - { name: '{label}', path: /acme, claim: acme }
services:
  - { group: acme, name: thing, port: 9000, ingress: { path: /acme }, probe: { path: /ok, port: 9001 }, resources: ~ }
events: [acme.thing.done]
installs: { acme: 1.2.3 }
`
	root := fstest.MapFS{
		"components/node_modules/@acme/thing/deployment.toa.yaml": {Data: []byte(sheet)},
		"components/node_modules/@acme/thing/package.json":        {Data: []byte(`{"version":"2.0.0"}`)},
	}
	ws := written(t, plain, map[string]string{"shop.orders": "extensions: { '@acme/thing': ~ }\n"})
	d := declared(t, ws, extensions.Options{Foreign: extensions.Declarative{Root: root}})
	u := unit(t, d, "composition/shop-orders")
	if got := value(u, "ACME_SHOP_ORDERS"); got != "shop.orders shop-orders" {
		t.Errorf("got %q", got)
	}
	if u.Mounts[0].Name != "shop-orders" || u.Installs["acme"] != "1.2.3" {
		t.Errorf("mounts %v, installs %v", u.Mounts, u.Installs)
	}
	if got := (extensions.Secret{Name: "acme-shop-orders", Key: "key", Optional: true}); !slices.Contains(d.Secrets, got) {
		t.Errorf("want %v among %v", got, d.Secrets)
	}
	s := unit(t, d, "service/acme-thing")
	if s.Service.Version != "2.0.0" || s.Probe.Port != 9001 || s.Backends[0].Path != "/acme" {
		t.Errorf("service %+v", s)
	}
}

func TestDeclarativeMistakes(t *testing.T) {
	for sheet, want := range map[string]string{
		"varables: {}":                         `node_modules/p/deployment.toa.yaml:1:1: unknown key "varables"`,
		"variables: { global: [{ name: A }] }": "expected either value or secret",
		"variables: { global: [{ name: A, value: b, secret: { name: a, key: b } }] }": "expected either value or secret",
		"variables: { global: [{ name: 'A B', value: b }] }":                          "expected the name of a variable",
		"services: [{ group: A }]":                                                    "services[0].name is missing",
		"probe: true":                                                                 "probe: expected false, or a path and a port",
		"mounts: { global: [{ name: a }]}":                                            "claim is missing",
		"":                                                                            "the file is empty",
	} {
		root := fstest.MapFS{"node_modules/p/deployment.toa.yaml": {Data: []byte(sheet)}}
		_, err := extensions.Declarative{Root: root}.Describe(t.Context(), "p", "components/a", extensions.Request{})
		var mistakes *document.Errors
		if !errors.As(err, &mistakes) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", sheet, want, err)
		}
	}
	_, err := extensions.Declarative{Root: fstest.MapFS{}}.Describe(t.Context(), "p", ".", extensions.Request{})
	if !errors.Is(err, extensions.ErrUndescribed) {
		t.Errorf("a package that is not there: %v", err)
	}
}

func FuzzDeclarative(f *testing.F) {
	for _, seed := range []string{
		"variables: {global: [{name: A, value: b}]}", "services: [{group: a, name: b}]", "probe: false", "installs: {a: 1}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root := fstest.MapFS{"p/deployment.toa.yaml": {Data: data}}
		request := extensions.Request{Instances: []extensions.Peer{{Locator: extensions.Locator{ID: "a.b", Label: "a-b"}}}}
		d, err := extensions.Declarative{Root: root}.Describe(t.Context(), "./p", ".", request)
		if err != nil {
			return
		}
		for _, v := range d.Variables["a-b"] {
			if strings.Contains(v.Name, "{NAMESPACE}") {
				t.Fatalf("a name is not filled in: %q", v.Name)
			}
		}
	})
}
