package cli

import (
	"strings"
	"testing"
)

func TestParseReferences(t *testing.T) {
	got, err := parseReferences("# of the last push\n\ncomposition/a r.test/a:1@sha256:00\r\ncomposition/b   b:2\n")
	if err != nil || len(got) != 2 || got["composition/a"].String() != "r.test/a:1@sha256:00" || got["composition/b"].Digest != "" {
		t.Errorf("got %v, %v", got, err)
	}
}

// What is read is what would be printed for it.
func FuzzReferences(f *testing.F) {
	f.Add("composition/a r.test:5000/a:1@sha256:00\n# b\ncomposition/c c:1")
	f.Add("a b c\n")
	f.Fuzz(func(t *testing.T, text string) {
		references, err := parseReferences(text)
		if err != nil {
			return
		}
		var again strings.Builder
		for id, reference := range references {
			if reference.Tag != "" {
				again.WriteString(string(id) + " " + reference.String() + "\n")
			}
		}
		printed, err := parseReferences(again.String())
		if err != nil {
			t.Fatalf("%q: %v", again.String(), err)
		}
		for id := range printed {
			if printed[id] != references[id] {
				t.Errorf("%s is %v, printed and read again %v", id, references[id], printed[id])
			}
		}
	})
}
