package extensions_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"toa.io/toa/extensions"
	"toa.io/toa/workspace"
)

// exposed is a workspace that has exposition installed.
func exposed(t *testing.T, context string) (*workspace.Workspace, fstest.MapFS) {
	t.Helper()
	const components = "node_modules/@toa.io/extensions.exposition/components/"
	root := fstest.MapFS{
		workspace.ContextFile:                      {Data: []byte(plain + "exposition: { authorities: { main: example.com } }\n" + context)},
		"components/shop.orders/manifest.toa.yaml": {Data: []byte("exposition: ~\n")},
		components + "identity.tokens/manifest.toa.yaml": {Data: []byte(`namespace: identity
name: tokens
entity: {}
configuration: { schema: { type: object } }
exposition: { isolated: true }
receivers: { identity.bans.updated: revoke }
`)},
	}
	ws, err := workspace.Load(root, "", nil)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	if err := ws.Discover(root); err != nil {
		t.Fatalf("discover: %v", err)
	}
	return ws, root
}

// A composition that lists a component of a package hosts it; the package's
// own service goes on as before.
func TestGuests(t *testing.T) {
	ws, root := exposed(t, "configuration: { identity.tokens: { keys: [{ id: one, key: $KEY }] } }\ncompositions: [{ name: identity, components: [identity.tokens] }]\n")
	d := declared(t, ws, extensions.Options{Packages: root})
	u := unit(t, d, "composition/identity")
	for name, want := range map[string]string{
		"TOA_MONGODB_IDENTITY_TOKENS": "mongodb://mongo", "TOA_EVENTS_IDENTITY_TOKENS": "", "TOA_CONFIGURATION__KEY": "",
		"TOA_MONGODB_IDENTITY_BASIC": "(none)", "TOA_EXPOSITION_PROPERTIES": "(none)",
	} {
		if got := value(u, name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	gateway := unit(t, d, "service/exposition-gateway")
	if got := value(gateway, "TOA_MONGODB_IDENTITY_TOKENS"); got != "mongodb://mongo" {
		t.Errorf("the gateway's TOA_MONGODB_IDENTITY_TOKENS = %q", got)
	}
	if len(d.Units) != 4 { // shop-orders, identity, the gateway and the service of configuration
		t.Errorf("%d units", len(d.Units))
	}
	mono := declared(t, ws, extensions.Options{Packages: root, Mono: true}).Units[0]
	if strings.Join(mono.Components, " ") != "shop-orders" {
		t.Errorf("mono is made of %v: services run what packages bring", mono.Components)
	}
}

func TestGuestThatNothingBrings(t *testing.T) {
	_, root := exposed(t, "")
	root[workspace.ContextFile].Data = []byte(plain + "compositions: [{ name: identity, components: [identity.tokens] }]\n")
	root["components/shop.orders/manifest.toa.yaml"].Data = []byte("name: orders\n")
	ws, err := workspace.Load(root, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = extensions.Declare(t.Context(), ws, extensions.Options{Packages: root})
	want := `context.toa.yaml:10:24: composition identity: expected a component that is deployed, found "identity.tokens", which only exposition brings, and nothing here uses that
    state ` + "`exposition`" + ` in context.toa.yaml, or remove the component from the composition`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// What packages bring can be evicted one by one, with what only it needs.
func TestEvictedBrought(t *testing.T) {
	ws, _ := exposed(t, "evicted: { components: [identity.tokens, exposition.octets, identity.otp] }\ncompositions: [{ name: identity, components: [identity.tokens, shop.orders] }]\n")
	d := declared(t, ws, extensions.Options{})
	gateway := unit(t, d, "service/exposition-gateway")
	for name, want := range map[string]string{
		"TOA_MONGODB_IDENTITY_TOKENS": "(none)", "TOA_STASH_IDENTITY_OTP": "(none)", "TOA_STORAGES": "(none)",
		"TOA_MONGODB_IDENTITY_BASIC": "mongodb://mongo",
		"TOA_EVENTS_IDENTITY_BANS":   "created updated", // others hear of them, and so does what is evicted
	} {
		if got := value(gateway, name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if got := unit(t, d, "composition/identity").Components; len(got) != 1 {
		t.Errorf("composition of %v", got)
	}
}

// Whoever runs an evicted component elsewhere wants to know all it is told.
func TestRevived(t *testing.T) {
	const context = "evicted: { components: [shop.orders, identity.otp] }\n"
	ws, _ := exposed(t, context)
	ws.Components[0].HasEntity, ws.Components[0].Storage = true, "@toa.io/storages.mongodb"
	told := func(label string, revived ...string) string {
		d := declared(t, ws, extensions.Options{Revived: revived})
		return drawnVariables(d.Variables[label])
	}
	if got := told("shop-orders"); strings.Contains(got, "MONGODB") {
		t.Errorf("an evicted component is told\n%s", got)
	}
	if got := told("shop-orders", "shop.orders"); !strings.Contains(got, "TOA_MONGODB_SHOP_ORDERS=mongodb://mongo\n") {
		t.Errorf("a revived component is told\n%s", got)
	}
	got := told("identity-otp", "shop.orders", "identity.otp")
	for _, want := range []string{"TOA_MONGODB_IDENTITY_OTP=mongodb://mongo\n", "TOA_STASH_IDENTITY_OTP=redis://stash\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("a revived component that exposition brings is told\n%swant %s", got, want)
		}
	}
}
