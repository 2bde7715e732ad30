package document_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"toa.io/toa/document"
)

func TestValuesKnowTheirPlace(t *testing.T) {
	r := document.NewReader("x")
	root := r.Parse([]byte("\xef\xbb\xbfa: &x [1, {b: ~}]\nc:\n  d: *x\n<<: {e: 1}\n"))
	if root == nil {
		t.Fatal(r.Errors())
	}
	at := func(v *document.Value, line, column int) {
		t.Helper()
		if v.At != (document.Place{Line: line, Column: column}) {
			t.Errorf("%s is at %v, want %d:%d", v.JSON(), v.At, line, column)
		}
	}
	a := root.Find("a").Value
	at(root, 1, 1)
	at(a.Items[1].Find("b").Value, 1, 15)
	copied := root.Find("c").Value.Find("d").Value
	at(copied.Items[0], 1, 8)
	if copied == a || !reflect.DeepEqual(copied.Items, a.Items) {
		t.Error("an alias is not a value of its own that says the same")
	}
	if e := root.Find("e"); e == nil || e.At.Line != 4 || root.Find("<<") != nil {
		t.Errorf("merged field: %+v", e)
	}
}

func TestDescribe(t *testing.T) {
	for text, want := range map[string]string{
		"~": "null", "a": "text", "1": "a number", "1.5": "a number", "TRUE": "true", "[1]": "a list", "{}": "an object",
	} {
		r := document.NewReader("x")
		if got := r.Parse([]byte("a: " + text)).Fields[0].Value.Describe(); got != want {
			t.Errorf("%s is described as %s, want %s", text, got, want)
		}
	}
}

// Whatever a file holds, there is a value or a reason why there is none; a
// value is JSON and can be packed.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "a: 1", "a: &x [b, *x]", "{a: {<<: [{b: 1}], c: 0x1F}}", "a: b\n---\nc", "? [a]\n: b", "a: !!binary x", "\ta: 1",
		"a: |\n  text\n", "'a': \"\\u2028\"", "<<: ~", "a: {b: c", strings.Repeat("[", 200),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := document.NewReader("x")
		v := r.Parse(data)
		if v == nil {
			if len(r.Errors()) == 0 {
				t.Fatal("nothing, and no reason")
			}
			return
		}
		if !json.Valid(v.JSON()) {
			t.Errorf("not JSON: %s", v.JSON())
		}
		if again := document.Pack(v).Unpack(); !reflect.DeepEqual(again, v) {
			t.Errorf("packed and unpacked: %+v, want %+v", again, v)
		}
	})
}
