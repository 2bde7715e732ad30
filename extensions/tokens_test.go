package extensions_test

import (
	"maps"
	"testing"

	"toa.io/toa/extensions"
)

func TestTokenKeys(t *testing.T) {
	for text, want := range map[string]map[string]extensions.KeyFormat{
		"": {},
		"configuration: { shop.orders: { key0: $A } }":                                                                         {},
		"configuration: { identity.tokens: { lifetime: 1, key2: $A } }":                                                        {},
		"configuration: { identity.tokens: { key0: $A, key1: $B } }":                                                           {"A": "paseto", "B": "paseto"},
		"configuration: { identity.tokens: { key0: plain, key1: 1 } }":                                                         {},
		"configuration: { identity.tokens: { keys: [{ id: x, key: $A }, { id: y, key: $B, format: paseto }, { id: z }, 1] } }": {"A": "jwe", "B": "paseto"},
		"configuration: { identity.tokens: { keys: [{ key: $A, format: jwe }, { key: plain }] } }":                             {"A": "jwe"},
		"annotations: { '@toa.io/extensions.configuration': { identity.tokens: { keys: { a: $A } } } }":                        {},
	} {
		if got := extensions.TokenKeys(written(t, plain+text+"\n", nil).Context); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
