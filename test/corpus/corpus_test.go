package corpus_test

import (
	"reflect"
	"testing"

	"toa.io/toa/test/corpus"
)

func TestDecode(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []any
	}{
		"bytes and text": {"go test fuzz v1\n[]byte(\"a\\xff\\n\")\nstring(\"dev\")\n", []any{[]byte("a\xff\n"), "dev"}},
		"parentheses":    {"go test fuzz v1\nstring(\"f(x))\")\n", []any{"f(x))"}},
		"other header":   {"go test fuzz v2\nstring(\"a\")\n", nil},
		"other type":     {"go test fuzz v1\nint(3)\n", nil},
		"cut":            {"go test fuzz v1\nstring(\"a\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := corpus.Decode(test.text)
			if (err != nil) != (test.want == nil) || !reflect.DeepEqual(got, test.want) {
				t.Errorf("Decode gives %#v, %v; want %#v", got, err, test.want)
			}
		})
	}
}
