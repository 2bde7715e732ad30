package buildkit_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/patternmatcher/ignorefile"
	"github.com/tonistiigi/fsutil"
	"toa.io/toa/cache"
)

// C82: a .toaignore means what a .dockerignore does to the engine: **, what is
// taken back and in which order, slashes at either end, and that a pattern
// without a slash is of the top only, other than git has it.
func TestIgnoredAsTheEngineDoes(t *testing.T) {
	t.Parallel()
	tree := files{
		"a.js": "1", "a.md": "1", "README.md": "1", "docs/a.md": "1", "docs/deep/a.md": "1", "docs/deep/keep.md": "1",
		"lib/a.js": "1", "lib/vendor/a.js": "1", "lib/vendor/keep/a.js": "1", "vendor/a.js": "1", "vendor/keep/a.js": "1",
		"tmp": "1", "lib/tmp/a": "1", "[odd]/a": "1", "#hash": "1", ".hidden/a": "1",
	}
	for _, patterns := range []string{
		"*.md", "**/*.md", "docs/*.md", "**/docs/**", "docs/**/a.md",
		"*\n!lib", "*\n!lib/vendor/keep", "**\n!**/*.md", "*.md\n!README.md", "!README.md\n*.md", "**/*.md\n!docs/deep/keep.md\ndocs/deep",
		"vendor", "vendor/", "/vendor", "/vendor/", "**/vendor", "**/vendor\n!**/keep", "./vendor", "lib/../vendor", "vendor/*\n!vendor/keep",
		"tmp", "tmp/", "**/tmp", "# comment\n\n  lib  \n", "\\[odd\\]", "[[]odd]", "\\#hash", "?.js", "l?b", ".*", "*/*/a.js",
	} {
		t.Run(patterns, func(t *testing.T) {
			dir := tree.write(t, t.TempDir())
			files{cache.IgnoreFile: patterns}.write(t, dir)
			same(t, listedByUs(t, dir), listedByEngine(t, dir, patterns))
		})
	}
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("files:\n got %q\nwant %q", got, want)
	}
}

func listedByUs(t *testing.T, dir string) []string {
	t.Helper()
	known, err := cache.OpenFiles(cache.OpenDB(filepath.Join(t.TempDir(), "files.db"), nil), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = known.Close() }()
	listed, err := known.Tree(cache.Rules{Dir: "."})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, file := range listed.Files() {
		paths = append(paths, file.Path)
	}
	slices.Sort(paths)
	return paths
}

// listedByEngine is what BuildKit's client sends of a directory.
func listedByEngine(t *testing.T, dir, patterns string) []string {
	t.Helper()
	excluded, err := ignorefile.ReadAll(strings.NewReader(patterns))
	if err != nil {
		t.Fatal(err)
	}
	all, err := fsutil.NewFS(dir)
	if err != nil {
		t.Fatal(err)
	}
	sent, err := fsutil.NewFilterFS(all, &fsutil.FilterOpt{ExcludePatterns: excluded})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	err = sent.Walk(t.Context(), "", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path != cache.IgnoreFile {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths
}
