package extensions_test

import (
	"fmt"
	"testing"

	"toa.io/toa/extensions"
)

// BenchmarkDeclare is ten thousand components, each a composition of its own.
func BenchmarkDeclare(b *testing.B) {
	manifests := map[string]string{}
	for i := range 10_000 {
		manifests[fmt.Sprintf("shop.item%d", i)] = "entity: {}\nevents: { paid: ~ }\nstash: ~\n"
	}
	ws := written(b, plain, manifests)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := extensions.Declare(b.Context(), ws, extensions.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
