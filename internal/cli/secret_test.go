package cli

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestParsePairs(t *testing.T) {
	for name, row := range map[string]struct {
		args  []string
		stdin string
		want  map[string]string // nil: refused
	}{
		"a pair":                    {args: []string{"username=developer"}, want: map[string]string{"username": "developer"}},
		"equals signs":              {args: []string{"url=amqp://a?b=c==", "x=="}, want: map[string]string{"url": "amqp://a?b=c==", "x": "="}},
		"an empty value":            {args: []string{"a="}, want: map[string]string{"a": ""}},
		"lines, quotes and dollars": {args: []string{"a='\"\n$HOME"}, want: map[string]string{"a": "'\"\n$HOME"}},
		"standard input":            {args: []string{"a=-", "b=1"}, stdin: "line\n", want: map[string]string{"a": "line\n", "b": "1"}},
		"none":                      {want: map[string]string{}},
		"no value":                  {args: []string{"hunter2"}},
		"no key":                    {args: []string{"=hunter2"}},
		"a key twice":               {args: []string{"a=hunter2", "a=2"}},
		"standard input twice":      {args: []string{"a=-", "b=-"}},
	} {
		pairs, err := parsePairs(row.args, strings.NewReader(row.stdin))
		if (err != nil) != (row.want == nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error tells what may be secret: %v", name, err)
		}
		if !maps.EqualFunc(pairs, row.want, func(a []byte, b string) bool { return string(a) == b }) {
			t.Errorf("%s: read %q, want %q", name, pairs, row.want)
		}
	}
	broken := errors.New("broken")
	if _, err := parsePairs([]string{"a=-"}, iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a broken input: %v", err)
	}
}

// What is read of arguments is what they say, whatever that is.
func FuzzParsePairs(f *testing.F) {
	f.Add("key", "va=lue")
	f.Add("", "=")
	f.Fuzz(func(t *testing.T, key, value string) {
		pairs, err := parsePairs([]string{key + "=" + value}, bytes.NewReader([]byte("read")))
		switch want, rest, _ := strings.Cut(key+"="+value, "="); {
		case want == "":
			if err == nil {
				t.Error("a pair without a key")
			}
		case err != nil:
			t.Error(err)
		case rest == "-" && string(pairs[want]) != "read", rest != "-" && string(pairs[want]) != rest:
			t.Errorf("read %q", pairs)
		}
	})
}

func TestParseRevision(t *testing.T) {
	for text, want := range map[string]int{"3": 3, "0": 0, "-1": 0, "x": 0, "1.5": 0} {
		got, err := parseRevision([]string{text})
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("parseRevision(%q) is %d, %v", text, got, err)
		}
	}
	if got, err := parseRevision(nil); got != previous || err != nil {
		t.Errorf("no revision is %d, %v", got, err)
	}
}

type hintedError struct{ what string }

func (e hintedError) Error() string { return e.what }
func (e hintedError) Hint() string  { return "mend " + e.what }

// Everything that was found wrong has its own line and its own hint.
func TestJoinedErrorsStandALineEach(t *testing.T) {
	err := &configurationError{errors.Join(hintedError{"access"}, errors.Join(hintedError{"secrets"}, errors.New("plain")))}
	var out bytes.Buffer
	writeError(&out, err)
	want := []string{"toa: access", "     mend access", "toa: secrets", "     mend secrets", "toa: plain", ""}
	if got := strings.Split(out.String(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
