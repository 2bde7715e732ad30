package extensions

import (
	"testing"

	"pgregory.net/rapid"

	"toa.io/toa/document"
)

// The sums are those that the runtime makes of the same schemas.
func TestEpoch(t *testing.T) {
	const empty = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" // of {}
	if got := epochOf(t, "{}"); got != empty {
		t.Errorf("got %s, want %s", got, empty)
	}
	if epochOf(t, "{b: 1, a: [x]}") != epochOf(t, "{a: [x], b: 1}") {
		t.Error("the order of keys matters")
	}
	if epochOf(t, "{a: [x, y]}") == epochOf(t, "{a: [y, x]}") {
		t.Error("the order of items does not matter")
	}
}

func TestNumbersAreThoseOfJavaScript(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1", "1.0": "1", "1.50": "1.5", "-0.0": "0", "1e3": "1000", "1e21": "1e+21", "123456789012345678901": "123456789012345680000",
		"0.000001": "0.000001", "1e-7": "1e-7", "1.5e-10": "1.5e-10", "2.5e+30": "2.5e+30",
	} {
		v := parsed(t, text)
		if got := scripted(v.JSON()); got != want {
			t.Errorf("%s is written %s, want %s", text, got, want)
		}
	}
}

// Fields in any order, at any depth, make the same epoch.
func TestEpochOfAnyOrder(t *testing.T) {
	var tree func(depth int) *rapid.Generator[*document.Value]
	tree = func(depth int) *rapid.Generator[*document.Value] {
		return rapid.Custom(func(t *rapid.T) *document.Value {
			if depth == 0 || rapid.Bool().Draw(t, "leaf") {
				return number(rapid.Int().Draw(t, "n"))
			}
			v := object()
			for _, key := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}`), 0, 4, rapid.ID).Draw(t, "keys") {
				v.Fields = append(v.Fields, field(key, tree(depth-1).Draw(t, "value")))
			}
			return v
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		v := tree(3).Draw(t, "schema")
		before := epoch(v)
		v.Fields = rapid.Permutation(v.Fields).Draw(t, "order")
		if after := epoch(v); after != before {
			t.Fatalf("%s becomes %s", before, after)
		}
	})
}
