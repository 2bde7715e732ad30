package workspace_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"toa.io/toa/workspace"
)

func TestContractNumbers(t *testing.T) {
	tests := []struct{ yaml, json string }{
		{"0", "0"},
		{"-1", "-1"},
		{"+1", "1"},
		{"1.10", "1.10"},
		{"-.5", "-0.5"},
		{"+.5", "0.5"},
		{"5.", "5"},
		{"1e6", "1e6"},
		{"1E-6", "1E-6"},
		{"0x1F", "31"},
		{"0o17", "15"},
		{"12345678901234567890123", "12345678901234567890123"},
		{"010", `"010"`},
		{"1_000", `"1_000"`},
		{"0x1_F", `"0x1_F"`},
		{".inf", `".inf"`},
		{".NaN", `".NaN"`},
		{`"1"`, `"1"`},
		{"2001-01-01", `"2001-01-01"`},
		{"True", "true"},
		{"yes", `"yes"`},
		{"Null", "null"},
		{"!!str 1", `"1"`},
		{`"\u2028<&>\e"`, "\"\\u2028<&>\\u001b\""},
	}
	for _, test := range tests {
		w := load(t, files(manifestPath, "namespace: store\nname: orders\nentity: {x: "+test.yaml+"}\n"), "")
		want := `{"entity":{"x":` + test.json + `}}`
		if got := string(w.Components[0].Contract); got != want {
			t.Errorf("%s becomes %s, want %s", test.yaml, got, want)
		}
	}
}

// JSON is YAML: whatever a manifest says in JSON is said in the map.
func TestContractProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entity := rapid.MapOfN(key(), jsonValue(3), 0, 4).Draw(t, "entity")
		text, err := json.Marshal(entity)
		if err != nil {
			t.Fatal(err)
		}
		w, err := workspace.Load(files(manifestPath, "namespace: store\nname: orders\nentity: "+string(text)+"\n"), "", nil)
		if err != nil {
			t.Fatalf("Load: %v of %s", err, text)
		}
		var got struct{ Entity map[string]any }
		if err := json.Unmarshal(w.Components[0].Contract, &got); err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Entity, want) {
			t.Fatalf("%s becomes %s", text, w.Components[0].Contract)
		}
	})
}

func key() *rapid.Generator[string] {
	return text().Filter(func(s string) bool { return s != "" && len(s) < 100 })
}

// text leaves out what JSON takes as it is and YAML does not.
func text() *rapid.Generator[string] {
	return rapid.StringOf(rapid.Rune().Filter(func(c rune) bool { return c < 0x7f || unicode.IsPrint(c) }))
}

func jsonValue(depth int) *rapid.Generator[any] {
	simple := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int32().AsAny(), rapid.Float64().AsAny(), text().AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(simple...)
	}
	below := jsonValue(depth - 1)
	return rapid.OneOf(append(simple, rapid.SliceOfN(below, 0, 3).AsAny(), rapid.MapOfN(key(), below, 0, 3).AsAny())...)
}
