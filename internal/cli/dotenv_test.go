package cli

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"toa.io/toa/document"
)

func TestQuoteEnv(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"nothing", "", ""},
		{"a word", "redis://stash:6379/0", "redis://stash:6379/0"},
		{"several", "created updated", "'created updated'"},
		{"JSON", `{"a":"$B"}`, `'{"a":"$B"}'`},
		{"a comment's sign", "a#b", "'a#b'"},
		{"a single quote", "it's", "`it's`"},
		{"a single quote and a backtick", "it's `so`", "\"it's `so`\""},
		{"lines", "a\nb", "'a\nb'"},
		{"a carriage return", "a\r\nb", `"a\r\nb"`},
		{"a backslash at the end", `a b\`, `a b\`},
		{"all quotes", "a'b`c\"d", "a'b`c\"d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, ok := quoteEnv(c.value); !ok || got != c.want {
				t.Errorf("quoteEnv(%q) = %q, %v, want %q", c.value, got, ok, c.want)
			}
		})
	}
}

func TestUnwritable(t *testing.T) {
	for _, value := range []string{"a'b`c\"d#", "'`\"", "'`\"\n", `\` + "\r", " \\"} {
		_, err := encodeEnv([]entry{{"KEY", value}})
		var unwritable *unwritableError
		if !errors.As(err, &unwritable) {
			t.Errorf("encodeEnv of %q: got %v, want an *unwritableError", value, err)
		} else if strings.Contains(err.Error()+unwritable.Hint(), value) {
			t.Errorf("encodeEnv of %q shows the value: %v", value, err)
		}
	}
}

// aReader is what readers of .env files agree upon, and no more.
var aReader = regexp.MustCompile("^([A-Z0-9_]+)=(?:'([^']*)'|`([^`]*)`|\"([^\"]*)\"|([^#\n'`\"][^#\n]*)?)\n")

func agreed(t *rapid.T, text string) map[string]string {
	values := map[string]string{}
	for text != "" {
		found := aReader.FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("no reader understands %q", text)
		}
		double := strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(found[4])
		values[found[1]] = found[2] + found[3] + double + strings.TrimSpace(found[5])
		text = text[len(found[0]):]
	}
	return values
}

// awkward are values of letters that mean something to readers.
func awkward() *rapid.Generator[string] {
	return rapid.StringOf(rapid.OneOf(rapid.RuneFrom([]rune("ab '\"`\\#$=\n\r\tn{}")), rapid.Rune()))
}

// Whatever is written is read as it was, by others and by us.
func TestReadersGetTheTextBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		want := rapid.MapOf(rapid.StringMatching(`[A-Z_][A-Z0-9_]{0,8}`), awkward()).Draw(r, "values")
		var entries []entry
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if _, ok := quoteEnv(want[name]); !ok {
				delete(want, name)
				continue
			}
			entries = append(entries, entry{name, want[name]})
		}
		data, err := encodeEnv(entries)
		if err != nil {
			r.Fatal(err)
		}
		if got := agreed(r, string(data)); !maps.Equal(got, want) {
			r.Fatalf("others read %q of %q, want %q", got, data, want)
		}
		got, err := parseEnv(".env", string(data))
		if err != nil || !maps.Equal(got, want) {
			r.Fatalf("we read %q, %v of %q, want %q", got, err, data, want)
		}
	})
}

func TestParseEnv(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[string]string
	}{
		{"nothing", "", map[string]string{}},
		{"comments and blanks", "# A=1\n\n  \nB=2 # two\r\n", map[string]string{"B": "2"}},
		{"as shells have it", "export A = 1\n", map[string]string{"A": "1"}},
		{"no last line end", "A=1", map[string]string{"A": "1"}},
		{"the last counts", "A=1\nA=2\n", map[string]string{"A": "2"}},
		{"empty", "A=\nB=''\nC=\"\"", map[string]string{"A": "", "B": "", "C": ""}},
		{"lines in quotes", "A='1\n2' # and\nB=3", map[string]string{"A": "1\n2", "B": "3"}},
		{"escapes", `A="1\n2"` + "\n" + `B='1\n2'`, map[string]string{"A": "1\n2", "B": `1\n2`}},
		{"an escaped quote", `A="say \"no\""`, map[string]string{"A": `say \"no\"`}},
		{"quotes inside", `A=it's`, map[string]string{"A": "it's"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := parseEnv(".env", c.text); err != nil || !maps.Equal(got, c.want) {
				t.Errorf("parseEnv(%q) = %q, %v, want %q", c.text, got, err, c.want)
			}
		})
	}
}

func TestParseEnvMistakes(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no assignment", "A=1\nhunter2\n", ".env:2:1: expected NAME=value or a comment"},
		{"open quote", "A='hunter2\nB=1\n", ".env:1:3: expected the quote to be closed"},
		{"more behind the quote", "A='1\n2' hunter2\n", ".env:2:3: expected the line to end after the closing quote"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseEnv(".env", c.text)
			if err == nil || err.Error() != c.want {
				t.Errorf("parseEnv(%q): got %v, want %s", c.text, err, c.want)
			}
			var mistake *document.Error
			if !errors.As(err, &mistake) || mistake.Hint() == "" {
				t.Errorf("parseEnv(%q): got no hint", c.text)
			}
		})
	}
}

func FuzzParseEnv(f *testing.F) {
	for _, text := range []string{"A=1\n", "A='1\n2' # x\nexport B=\"\\n\"", "A=`'`", "# A", "A='", "=", "A=1\r\n\r\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values, err := parseEnv(".env", text)
		if err != nil {
			return
		}
		var entries []entry
		for _, name := range slices.Sorted(maps.Keys(values)) {
			entries = append(entries, entry{name, values[name]})
		}
		data, err := encodeEnv(entries)
		if err != nil {
			return
		}
		if again, err := parseEnv(".env", string(data)); err != nil || !maps.Equal(values, again) {
			t.Errorf("%q is %q, and when written %q, %v", text, values, again, err)
		}
	})
}
