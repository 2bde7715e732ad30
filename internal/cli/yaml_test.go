package cli

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	old "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"toa.io/toa/document"
)

func TestEncodeYAML(t *testing.T) {
	const stated = `
name: orders
version: "1.0"
on: {"no": 'yes', empty: {}, none: ~, list: [], size: 010}
"@toa.io/x": ./a/b
list: [1, [a, b], {a: 1, b: [true]}, {c: {d: e}}]
text: "two\nlines: and \u2028"
`
	const want = `name: orders
version: "1.0"
"on":
  "no": "yes"
  empty: {}
  none: null
  list: []
  size: "010"
"@toa.io/x": ./a/b
list:
  - 1
  - - a
    - b
  - a: 1
    b:
      - true
  - c:
      d: e
text: "two\nlines: and \u2028"
`
	r := document.NewReader("stated")
	if got := string(encodeYAML(r.Parse([]byte(stated)))); got != want {
		t.Errorf("got\n%s\nwant\n%s (%v)", got, want, r.Errors())
	}
}

// Others and we read what we write as it was, whatever version of YAML it is
// taken for.
func TestYAMLIsReadAsItWas(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		v := &document.Value{Kind: document.Object, Fields: fields(r, 3)}
		data := encodeYAML(v)
		if len(v.Fields) == 0 {
			return
		}
		reader := document.NewReader("written")
		read := reader.Parse(data)
		if read == nil {
			r.Fatalf("not read: %v\n%s", reader.Errors(), data)
		}
		if got, want := read.JSON(), v.JSON(); string(got) != string(want) {
			r.Fatalf("we read %s, want %s of\n%s", got, want, data)
		}
		for version, unmarshal := range map[string]func([]byte, any) error{
			"1.1": old.Unmarshal,
			"1.2": yaml.Unmarshal,
		} {
			got := map[string]any{}
			if err := unmarshal(data, &got); err != nil {
				r.Fatalf("YAML %s: %v of\n%s", version, err, data)
			}
			again, err := json.Marshal(keyed(got))
			if err != nil {
				r.Fatal(err)
			}
			if !reflect.DeepEqual(decoded(r, again), decoded(r, v.JSON())) {
				r.Fatalf("readers of YAML %s read %s, want %s of\n%s", version, again, v.JSON(), data)
			}
		}
	})
}

// keyed makes keys text for JSON. A reader of YAML 1.1 takes some for other than
// text: these cannot be mistaken for what was written.
func keyed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = keyed(value)
		}
	case map[any]any:
		object := map[string]any{}
		for key, value := range v {
			name, isText := key.(string)
			if !isText {
				name = fmt.Sprintf("%T %v", key, key)
			}
			object[name] = keyed(value)
		}
		return object
	case []any:
		for i, item := range v {
			v[i] = keyed(item)
		}
	}
	return v
}

func decoded(r *rapid.T, data []byte) (v any) {
	if err := json.Unmarshal(data, &v); err != nil {
		r.Fatal(err)
	}
	return v
}

func words() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"yes", "No", "~", "null", "1.0", "010", "1e3", "0x1", "2001-02-03", "12:30", "<<", "=", "- a", "a: b", "a #b", "@x", "./a", ".inf", "é", "\u0085", "\ufeff", "*a", "&a", "!a", "%", "`", "'", `"`, " a", "a\n"}),
		rapid.StringMatching(`[a-zA-Z_./~-]{1,6}`),
	)
}

func fields(r *rapid.T, depth int) []document.Field {
	var all []document.Field
	for _, key := range rapid.SliceOfNDistinct(words(), 0, 4, rapid.ID).Draw(r, "keys") {
		all = append(all, document.Field{Key: key, Value: value(r, depth-1)})
	}
	return all
}

func value(r *rapid.T, depth int) *document.Value {
	kinds := []document.Kind{document.Null, document.Text, document.Integer, document.Float, document.Boolean}
	if depth > 0 {
		kinds = append(kinds, document.List, document.Object)
	}
	v := &document.Value{Kind: rapid.SampledFrom(kinds).Draw(r, "kind")}
	switch v.Kind {
	case document.Text:
		v.Text = rapid.OneOf(words(), rapid.Just("")).Draw(r, "text")
	case document.Integer:
		v.Text = rapid.SampledFrom([]string{"0", "-12", "300"}).Draw(r, "integer")
	case document.Float:
		v.Text = rapid.SampledFrom([]string{"0.5", "-1.25"}).Draw(r, "float")
	case document.Boolean:
		v.Text = rapid.SampledFrom([]string{"true", "false"}).Draw(r, "boolean")
	case document.List:
		for range rapid.IntRange(0, 3).Draw(r, "items") {
			v.Items = append(v.Items, value(r, depth-1))
		}
	case document.Object:
		v.Fields = fields(r, depth)
	default: // null says nothing
	}
	return v
}
