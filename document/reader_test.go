package document_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"toa.io/toa/document"
	"toa.io/toa/internal/lazyregexp"
)

// order is what the examples read.
type order struct {
	id       string
	tags     []string
	count    int
	paid     bool
	timeout  time.Duration
	discount *int
	notes    map[string]string
}

func orderKeys(r *document.Reader, o *order) document.Keys {
	return document.Keys{
		"id":       r.Text(&o.id, document.Matching(lazyregexp.New(`^[a-z]+$`), "small letters")).About("what it is called"),
		"tags":     r.Texts(&o.tags, document.OneWord),
		"count":    r.Integer(&o.count, 1),
		"paid":     r.Boolean(&o.paid),
		"timeout":  r.Duration(&o.timeout),
		"discount": r.Nullable(document.Optional(&o.discount, func(n *int) document.Want { return r.Integer(n, 0) })),
		"state":    r.Either(r.Text(new(string), document.OneOf("new", "sent")), document.Keys{"since": document.Anything()}),
		"extra":    r.Open(document.Keys{"color": r.Text(new(string), document.Filled)}),
		"notes": r.Each(func(key string) document.Want {
			var text string
			return r.Text(&text).Then(func(*document.Value) { o.notes[key] = text })
		}),
		"total": r.Refuse("expected to be counted", "remove it"),
		"size":  r.Some("a number", document.Integer, document.Float),
	}
}

func read(text string) (order, *document.Reader) {
	o := order{notes: map[string]string{}}
	r := document.NewReader("order.yaml")
	if root := r.Parse([]byte(text)); root != nil {
		r.Sub(orderKeys(r, &o), "id").Take(root)
	}
	return o, r
}

func TestRead(t *testing.T) {
	o, r := read(`
id: abc
tags: [x, 1.10]
count: 3
paid: TRUE
timeout: 90s
discount: 0
state: {since: ~}
extra: {weight: 1, color: red}
notes: {a: b, "c d": "on"}
size: 1.5
`)
	if errors := r.Errors(); len(errors) > 0 {
		t.Fatal(errors[0])
	}
	got := fmt.Sprint(o.id, o.tags, o.count, o.paid, o.timeout, *o.discount, o.notes)
	if want := "abc[x 1.10] 3 true 1m30s 0 map[a:b c d:on]"; got != want {
		t.Errorf("read %s, want %s", got, want)
	}
}

func TestMistakes(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"missing", "count: 1", "1:1: id is missing, expected it to be stated"},
		{"unknown", "id: a\nconut: 1", "2:1: unknown key \"conut\", expected a known one\n    did you mean \"count\"?"},
		{"pattern", "id: A", `1:5: id: expected small letters, found "A"`},
		{"text", "id: [a]", "1:5: id: expected text, found a list"},
		{"flag", "id: true", "1:5: id: expected text, found true\n    put quotes around true if that is the text"},
		{"twice", "id: a\ntags: [x, x]", "2:11: tags[1]: expected every item once, found \"x\" again\n    keep one of them"},
		{"empty list", "id: a\ntags: []", "2:7: tags: expected at least one item, found an empty list\n    remove the key if there is nothing to list"},
		{"not a list", "id: a\ntags: x", "2:7: tags: expected a list, found text"},
		{"too small", "id: a\ncount: 0", `2:8: count: expected a whole number, 1 or more, found "0"`},
		{"too large", "id: a\ncount: 9999999999", `2:8: count: expected a whole number, 1 or more, found "9999999999"`},
		{"no number", "id: a\ncount: 1.5", "2:8: count: expected a whole number, 1 or more, found a number"},
		{"no flag", "id: a\npaid: yes", "2:7: paid: expected true or false, found text"},
		{"duration", "id: a\ntimeout: -1s", `2:10: timeout: expected a duration such as 90s or 10m, found "-1s"`},
		{"duration without a unit", "id: a\ntimeout: 10", "2:10: timeout: expected a duration such as 90s or 10m, found a number"},
		{"choice", "id: a\nstate: gone", `2:8: state: expected new or sent, found "gone"`},
		{"nearly a known key", "id: a\nextra: {colr: red}", "2:9: unknown key \"colr\" in extra, expected color\n    did you mean \"color\"?"},
		{"blank", "id: a\nextra: {color: ' '}", `2:16: extra.color: expected some text, found " "`},
		{"control character", "id: a\nextra: {color: \"\\e\"}", `2:16: extra.color: expected text without control characters, found "\x1b"`},
		{"item of any key", "id: a\nnotes: {c d: []}", `2:14: notes."c d": expected text, found a list`},
		{"not an object", "id: a\nnotes: x", "2:8: notes: expected an object, found text"},
		{"refused", "id: a\ntotal: 1", "2:1: total: expected to be counted\n    remove it"},
		{"kind", "id: a\nsize: x", "2:7: size: expected a number, found text"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, r := read(test.text)
			err := (&document.Errors{List: r.Errors()}).Error()
			if want := "order.yaml:" + test.want; err != want {
				t.Errorf("errors\n%s\nwant\n%s", err, want)
			}
		})
	}
}

func TestUnknownIsAsked(t *testing.T) {
	r := document.NewReader("x")
	r.Unknown = func(key string, known []string) string { return key + " of " + strings.Join(known, ",") }
	r.Object(r.Parse([]byte("c: 1")), document.Keys{"b": document.Anything(), "a": document.Anything()})
	if got, want := r.Errors()[0].Hint(), "c of a,b"; got != want {
		t.Errorf("Hint = %q, want %q", got, want)
	}
}

// What readers want is what their schema says.
func TestSchema(t *testing.T) {
	r := document.NewReader("x")
	keys := orderKeys(r, &order{})
	for name, want := range map[string]string{
		"id":       `{"description":"what it is called","type":["string","number"],"pattern":"^[a-z]+$"}`,
		"tags":     `{"type":"array","items":{"type":["string","number"],"pattern":"^\\S+$"},"minItems":1,"uniqueItems":true}`,
		"count":    `{"type":"integer","minimum":1}`,
		"paid":     `{"type":"boolean"}`,
		"timeout":  `{"type":"string","pattern":"^([0-9.]+(ns|us|µs|ms|s|m|h))+$"}`,
		"discount": `{"anyOf":[{"type":"integer","minimum":0},{"type":"null"}]}`,
		"state":    `{"anyOf":[{"type":["string","number"],"enum":["new","sent"]},{"type":"object","properties":{"since":{}},"additionalProperties":false}]}`,
		"extra":    `{"type":"object","properties":{"color":{"type":["string","number"],"pattern":"\\S"}}}`,
		"notes":    `{"type":"object","additionalProperties":{"type":["string","number"]}}`,
		"size":     `{"type":["integer","number"]}`,
	} {
		got, err := keys[name].Describe().MarshalJSON()
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%s: %s, %v\nwant %s", name, got, err, want)
		}
	}
	if whole := keys.Schema("id"); whole.Properties["total"] != nil || whole.Required[0] != "id" {
		t.Errorf("Schema has a refused key, or does not require what must be there: %+v", whole)
	}
}

func TestOverlays(t *testing.T) {
	r := document.NewReader("x")
	schema := document.Keys{"a/b": r.Sub(document.Keys{"c": r.Boolean(new(bool))}, "c")}.Schema()
	schema.Overlays()
	const want = `{
  "type": "object",
  "properties": {
    "a/b": {
      "type": "object",
      "properties": {
        "c": {
          "type": "boolean"
        }
      },
      "patternProperties": {
        "^c@.+$": {
          "$ref": "#/properties/a~1b/properties/c"
        }
      },
      "additionalProperties": false,
      "allOf": [
        {
          "anyOf": [
            {
              "required": [
                "c"
              ]
            },
            {
              "not": {
                "patternProperties": {
                  "^c@.+$": false
                }
              }
            }
          ]
        }
      ]
    }
  },
  "patternProperties": {
    "^a/b@.+$": {
      "$ref": "#/properties/a~1b"
    }
  },
  "additionalProperties": false
}
`
	if got := string(schema.Encode()); got != want {
		t.Errorf("Encode:\n%s", got)
	}
}

func ExampleReader() {
	var name string
	r := document.NewReader("shop.yaml")
	if root := r.Parse([]byte("nmae: x\n")); root != nil {
		r.Object(root, document.Keys{"name": r.Text(&name, document.OneWord)})
		r.Require(root, "name")
	}
	for _, err := range r.Errors() {
		fmt.Println(err, "-", err.Hint())
	}
	// Output:
	// shop.yaml:1:1: unknown key "nmae", expected name - did you mean "name"?
	// shop.yaml:1:1: name is missing, expected it to be stated -
}
