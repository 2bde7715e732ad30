package cache_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/test/corpus"
)

// What is taken as a .toaignore can be asked about every path, answers the same
// each time, and reads as the same patterns again when its lines are written down.
func FuzzIgnore(f *testing.F) {
	corpus.Add(f)
	for _, text := range []string{
		"", "# nothing\n\n", "*.md\n!README.md\n", "docs/**/draft-?.txt\n", "/lib\nlib/\n", "[a-c]*\n", "[\n", "\\\n", "a\\ b\n",
		"\xef\xbb\xbf*.log\r\n", "**\n!**/keep\n", "!\n", "../out\n", "a//b\n./c\n", "日本*\n", "{a,b}\n", "^$.|()+\n", "\\1\n",
	} {
		f.Add(text, "lib/deep/a.md")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		lines, err := cache.ParseIgnore(".toaignore", text)
		if err != nil {
			return
		}
		again, err := cache.ParseIgnore(".toaignore", strings.Join(lines, "\n"))
		if plain := !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "#") }); plain && (err != nil || !slices.Equal(again, lines)) {
			t.Errorf("%q reads as %q, and that as %q: %v", text, lines, again, err)
		}
		rules := cache.Rules{Dir: "c", Root: lines}
		shipped, rule, err := rules.Explain(text, path)
		if err != nil {
			t.Fatalf("Explain(%q) by %q: %v", path, text, err)
		}
		if twice, same, err := rules.Explain(text, path); err != nil || twice != shipped || same != rule {
			t.Errorf("Explain(%q) by %q says %v by %s, then %v by %s: %v", path, text, shipped, rule, twice, same, err)
		}
	})
}

func TestIgnoreNamesTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"*.md\n\\1\n":      "c/.toaignore:2:1: ",
		"# [\n\n  [a\n*\n": "c/.toaignore:3:1: ",
		"!\n":              "c/.toaignore:1:1: ",
		"*\n!\\1\n":        "c/.toaignore:2:1: ",
		"*\n\\1\n":         "c/.toaignore:2:1: ",
	} {
		_, err := cache.ParseIgnore("c/.toaignore", text)
		var broken *cache.FileError
		if !errors.As(err, &broken) || !strings.HasPrefix(err.Error(), want) || broken.Hint() == "" {
			t.Errorf("ParseIgnore(%q): %v, want %s…", text, err, want)
		}
	}
}
