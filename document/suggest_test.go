package document

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	candidates := []string{"base", "build", "components", "name", "registry"}
	tests := []struct{ text, want string }{
		{"regsitry", "registry"},
		{"bse", "base"},
		{"bas", "base"},
		{"component", "components"},
		{"Name", "name"},
		{"version", ""},
		{"x", ""},
		{"", ""},
	}
	for _, test := range tests {
		if got := Nearest(test.text, candidates); got != test.want {
			t.Errorf("Nearest(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

func TestDistance(t *testing.T) {
	text := rapid.StringMatching(`[abc]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		const limit = 100
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		forth, back := distance(a, b, limit), distance(b, a, limit)
		if forth != back {
			t.Fatalf("distance(%q, %q) is %d one way and %d the other", a, b, forth, back)
		}
		if (forth == 0) != (a == b) || forth > max(len(a), len(b)) {
			t.Fatalf("distance(%q, %q) = %d", a, b, forth)
		}
		if near := distance(a, a+b, limit); near != len(b) {
			t.Fatalf("distance(%q, %q) = %d, want %d", a, a+b, near, len(b))
		}
	})
}
