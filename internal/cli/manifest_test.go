package cli

import (
	"testing"
	"testing/fstest"

	"toa.io/toa/workspace"
)

func TestNormalised(t *testing.T) {
	for _, c := range []struct{ name, stated, want string }{
		{"nothing stated", "{}", `namespace: store
name: orders
bindings:
  - "@toa.io/bindings.amqp"
bridge: "@toa.io/bridges.node"
operations:
  place: {}
extensions:
  "@toa.io/extensions.fetch": null
  "@toa.io/extensions.introspection": null
  "@toa.io/extensions.telemetry": null
build:
  scripts: run
`},
		{"everything stated", `
name: orders
namespace: shop
version: "1"
entity: { storage: sql, properties: { a: { type: string } } }
prototype: ~
bindings: [http]
bridge: ./bridge
operations: { place: { query: false }, cancel: ~ }
events: { placed: ~ }
receivers: { carts.emptied: cancel, shop.a.b: { operation: place, source: others } }
guards: [own]
stash: ~
files: [src]
ignore: ["*.md"]
build: { image: "base:1", run: "one\ntwo", scripts: ignore }
`, `namespace: shop
name: orders
version: "1"
entity:
  storage: "@toa.io/storages.sql"
  properties:
    a:
      type: string
prototype: null
bindings:
  - "@toa.io/bindings.http"
bridge: ./components/store.orders/bridge
operations:
  cancel: {}
  place:
    query: false
events:
  placed: {}
receivers:
  default.carts.emptied: cancel
  shop.a.b:
    operation: place
    source: others
guards:
  own: {}
extensions:
  "@toa.io/extensions.fetch": null
  "@toa.io/extensions.introspection": null
  "@toa.io/extensions.stash": null
  "@toa.io/extensions.telemetry": null
files:
  - src
ignore:
  - "*.md"
build:
  image: "base:1"
  run: "one\ntwo"
  scripts: ignore
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := fstest.MapFS{
				workspace.ContextFile:                               {Data: []byte("name: shop\nregistry: localhost\n")},
				"components/store.orders/" + workspace.ManifestFile: {Data: []byte(c.stated)},
				"components/store.orders/operations/place.js":       {},
			}
			ws, err := workspace.Load(root, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := ws.Discover(root); err != nil {
				t.Fatal(err)
			}
			if got := string(encodeYAML(normalised(ws.Components[0]))); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
