package chart

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// What readers of YAML take for something else when it is not quoted.
var tricky = []string{
	"", "~", "null", "Null", "y", "n", "yes", "No", "on", "OFF", "true", "False", "0", "010", "0o10", "0x10", "0b1", "1_000", "1e6",
	"1.10", "-1", "+1", ".5", ".inf", "-.INF", ".nan", "190:20:30", "2001-12-14", "2001-12-14t21:59:43.10-05:00", "=", "<<", "- a", "a: b",
	"a #b", "#", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a", "{a}", "[a]", "{{ a }}", "---", "...", "? a", ",", "'", `"`, `\`, "a\nb",
	"\n", "\r", "\t", " a ", "\x00", "\x1b", "\x7f", "\u0085", "\u00a0", "\u2028", "\ufeff", "\ufffe", "😀", "заказы",
}

func FuzzQuote(f *testing.F) {
	for _, s := range tricky {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "\ufffd")
		document := mapping{{"key", s}, {"list", list{s, mapping{{"a", s}, {"b", 1}}}}}.encode()
		var got struct {
			Key  string
			List []yaml.Node
		}
		if err := yaml.Unmarshal(document, &got); err != nil {
			t.Fatalf("%q is written as a document that is none: %v\n%s", s, err, document)
		}
		item := got.List[1].Content
		if got.Key != s || got.List[0].Value != s || got.List[0].Tag != "!!str" || item[1].Value != s || item[3].Value != "1" {
			t.Errorf("%q is written as\n%s", s, document)
		}
		var asJSON string // double-quoted YAML of any version reads as JSON does
		if err := json.Unmarshal([]byte(quote(s)), &asJSON); err != nil || asJSON != s {
			t.Errorf("quote(%q) = %s, which JSON reads as %q, %v", s, quote(s), asJSON, err)
		}
	})
}

func TestEncode(t *testing.T) {
	got := string(mapping{
		{"empty", list{}},
		{"list", list{"on", mapping{{"name", "a"}, {"inner", mapping{{"n", 1}}}, {"items", list{"x"}}}}},
		{"row", row{"50m", "1"}},
		{"brief", brief{{"a", "1"}, {"b", 2}, {"c", true}}},
		{"json", `{"it's":"\n"}`},
		{"explained", explained{"What it is.\nAnd more.", list{`"`}}},
		{"text", text("{\n  1\n}")},
		{"last", 0o10},
	}.encode())
	want := `empty: []
list:
  - "on"
  - name: "a"
    inner:
      n: 1
    items:
      - "x"
row: ["50m", "1"]
brief: {a: "1", b: 2, c: true}
json: '{"it''s":"\n"}'

# What it is.
# And more.
explained:
  - '"'
text: |-
  {
    1
  }
last: 8
`
	if got != want {
		t.Errorf("encode gives\n%s\nwant\n%s", got, want)
	}
}

// spread must foresee what json.Indent does, without doing it.
func TestSpread(t *testing.T) {
	document := rapid.Custom(func(t *rapid.T) any { return node(t, 4) })
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(document.Draw(t, "document"))
		if err != nil {
			t.Fatal(err)
		}
		depth := rapid.IntRange(0, 3).Draw(t, "depth")
		var indented bytes.Buffer
		if err := json.Indent(&indented, raw, strings.Repeat("  ", depth), "  "); err != nil {
			t.Fatal(err)
		}
		if got := spread(raw, depth); got != indented.Len() {
			t.Errorf("spread(%s, %d) = %d, Indent gives %d", raw, depth, got, indented.Len())
		}
		if got := spread(indented.Bytes(), depth); got != indented.Len() {
			t.Errorf("spread of what is indented = %d, want %d", got, indented.Len())
		}
	})
}

// node draws a JSON value without empty objects or lists: spread counts those
// a little high.
func node(t *rapid.T, depth int) any {
	kinds := 3
	if depth > 0 {
		kinds = 5
	}
	inner := rapid.Custom(func(t *rapid.T) any { return node(t, depth-1) })
	switch rapid.IntRange(1, kinds).Draw(t, "kind") {
	case 1:
		return rapid.Float64Range(-1e9, 1e9).Draw(t, "number")
	case 2:
		return rapid.SampledFrom([]any{true, false, nil}).Draw(t, "word")
	case 3:
		return rapid.OneOf(rapid.String(), rapid.SampledFrom(tricky)).Draw(t, "text")
	case 4:
		return rapid.SliceOfN(inner, 1, 4).Draw(t, "list")
	default:
		return rapid.MapOfN(rapid.String(), inner, 1, 4).Draw(t, "object")
	}
}

func TestSpreadOfEmptyIsAnUpperBound(t *testing.T) {
	for _, raw := range []string{`{}`, `[]`, `{"a":{},"b":[[],{}]}`, ``} {
		var indented bytes.Buffer
		if raw != "" {
			if err := json.Indent(&indented, []byte(raw), "", "  "); err != nil {
				t.Fatal(err)
			}
		}
		if got := spread([]byte(raw), 0); got < indented.Len() {
			t.Errorf("spread(%s) = %d, Indent gives %d", raw, got, indented.Len())
		}
	}
}
