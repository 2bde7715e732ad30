package extensions

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"toa.io/toa/test/corpus"
)

func TestPointerResolves(t *testing.T) {
	p := Pointer{[]pointerEntry{
		{anywhere, []string{"amqp://default"}},
		{"store", []string{"amqp://store-0", "amqp://store-1"}},
		{"store.orders", []string{"redis://orders"}},
		{"api", []string{"https://api"}},
	}}
	for _, row := range []struct{ selector, name, value, secret string }{
		{"store.orders", "TOA_X_STORE_ORDERS", "redis://orders", ""},
		{"store.carts", "TOA_X_STORE_CARTS", "amqp://store-0 amqp://store-1", "toa-x-store"},
		{"store.orders.created", "TOA_X_STORE_ORDERS_CREATED", "redis://orders", ""},
		{"default.shop", "TOA_X_DEFAULT_SHOP", "amqp://default", "toa-x.default"},
		{"storehouse.a", "TOA_X_STOREHOUSE_A", "amqp://default", "toa-x.default"},
		{"api.v1", "TOA_X_API_V1", "https://api", ""},
	} {
		got, found := p.variables("x", row.selector)
		if !found || got[0].Name != row.name || got[0].Value != row.value {
			t.Errorf("variables(%q) = %v, %v", row.selector, got, found)
		}
		checkCredentials(t, got, row.secret)
	}
	if got, found := (Pointer{}).variables("x", "a.b"); found {
		t.Errorf("an empty pointer resolves to %v", got)
	}
}

func checkCredentials(t *testing.T, got []Variable, secret string) {
	t.Helper()
	if secret == "" {
		if len(got) != 1 {
			t.Errorf("%s: credentials where none are used: %v", got[0].Name, got)
		}
		return
	}
	if len(got) != 3 {
		t.Fatalf("%s: want credentials, got %v", got[0].Name, got)
	}
	for i, key := range []string{"username", "password"} {
		v := got[i+1]
		if v.Name != got[0].Name+"_"+strings.ToUpper(key) || *v.Secret != (Secret{Name: secret, Key: key}) {
			t.Errorf("got %s from %v, want key %s of %s", v.Name, *v.Secret, key, secret)
		}
	}
}

func TestSecretName(t *testing.T) {
	for key, want := range map[string]string{
		anywhere: "toa-amqp-context.default", "a": "toa-amqp-context-a", "a.b": "toa-amqp-context-a-b",
		"myShop.a": "toa-amqp-context-myshop-a", "a_b": "toa-amqp-context-a-b",
	} {
		if got := secretName("amqp-context", key); got != want {
			t.Errorf("secretName(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestSpread(t *testing.T) {
	for text, want := range map[string][]string{
		"amqp://a":             {"amqp://a"},
		"amqp://a-{0-2}":       {"amqp://a-0", "amqp://a-1", "amqp://a-2"},
		"amqp://a{9-10}.b":     {"amqp://a9.b", "amqp://a10.b"},
		"amqp://{1-2}.{3-4}":   {"amqp://1.3", "amqp://1.4", "amqp://2.3", "amqp://2.4"},
		"amqp://{5-5}":         {"amqp://5"},
		"amqp://{a-b}":         {"amqp://{a-b}"},
		"amqp://{123456789-1}": {"amqp://{123456789-1}"},
	} {
		if got, err := spread(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("spread(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"{2-1}", "{0-99999999}", "{0-1000}{0-1000}", "{1-2}{2-1}"} {
		if got, err := spread(text); err == nil {
			t.Errorf("spread(%q) = %d addresses, want an error", text, len(got))
		}
	}
}

func TestAddress(t *testing.T) {
	for _, text := range []string{
		"amqp://host", "mongodb://a.b:27017/db?x=a@b", "http://host/a@b", "pg://host/db/schema",
		"redis://127.0.0.1:6379", "amqp://a-0", "pubsub:///projects/p/topics/t", "http://[::1]:80",
	} {
		if expected := address(text); expected != "" {
			t.Errorf("address(%q): expected %s", text, expected)
		}
	}
	for _, text := range []string{
		"", "host", "://host", "amqp:", "amqp://", "amqp://user:pass@host", "amqp://user@host", "amqp://@host",
		"amqp://u:p%zz@host", "amqp://a b", "1amqp://host", "amqp://[::1",
	} {
		if address(text) == "" {
			t.Errorf("address(%q) is taken", text)
		}
	}
}

// What resolves is always the longest key that leads to the selector.
func TestPointerTakesTheNearest(t *testing.T) {
	segment := rapid.StringMatching(`[a-c]{1,2}`)
	key := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "segments"), ".")
	})
	rapid.Check(t, func(t *rapid.T) {
		var p Pointer
		for i, k := range rapid.SliceOfDistinct(key, rapid.ID).Draw(t, "keys") {
			p.entries = append(p.entries, pointerEntry{k, []string{fmt.Sprint("redis://", i)}})
		}
		selector := key.Draw(t, "selector")
		got, found := p.resolve(selector)
		best := ""
		for _, e := range p.entries {
			if (selector == e.key || strings.HasPrefix(selector, e.key+".")) && len(e.key) > len(best) {
				best = e.key
			}
		}
		if found != (best != "") || got.key != best {
			t.Fatalf("resolve(%q) among %v = %q, want %q", selector, p, got.key, best)
		}
	})
}

// Whatever is taken for an address has no user, is a URL, and stays one when
// its ranges are spread.
func FuzzPointer(f *testing.F) {
	corpus.Add(f)
	for _, seed := range []string{
		"amqp://a", "amqp://a-{0-2}", "amqp://u:p@h", "http://[::1]", "{1-2}://{3-4}", "amqp://h/{0-1}?q#{5-6}",
		"pg:opaque", "mongodb://a,b,c/db", "amqp:\\\\u@h", "amqp://h\x00", "amqp://u%40@h",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := spread(text)
		if err != nil {
			return
		}
		if len(all) == 0 || len(all) > maxAddresses {
			t.Fatalf("spread(%q) gives %d addresses", text, len(all))
		}
		for _, one := range all {
			if address(one) != "" {
				continue
			}
			u, err := url.Parse(one)
			if err != nil || u.User != nil || u.Scheme == "" {
				t.Fatalf("address(%q) is taken: %v, %v", one, u, err)
			}
		}
	})
}
