package cache_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"toa.io/toa/cache"
)

// long is how far back test files are dated, so that their stamps are trusted.
const long = -time.Hour

// write makes files of "path: content"; a content "-> target" makes a link, "x:" an executable.
func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for path, content := range files {
		full := filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			if err := os.Symlink(target, full); err != nil {
				t.Fatal(err)
			}
			continue
		}
		mode := os.FileMode(0o644)
		if rest, ok := strings.CutPrefix(content, "x:"); ok {
			content, mode = rest, 0o755
		}
		if err := os.WriteFile(full, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
}

type store struct {
	t    *testing.T
	db   string
	root string
}

func newStore(t *testing.T, files map[string]string) store {
	t.Helper()
	s := store{t: t, db: filepath.Join(t.TempDir(), "db", "files.db"), root: t.TempDir()}
	write(t, s.root, files)
	return s
}

// tree scans the directory "c" as a new process would.
func (s store) tree(rules cache.Rules) (*cache.Tree, error) {
	s.t.Helper()
	rules.Dir = "c"
	files, err := cache.OpenFiles(cache.OpenDB(s.db, func(w string) { s.t.Error("warning:", w) }), s.root)
	if err != nil {
		s.t.Fatal(err)
	}
	defer files.Close()
	defer files.Save()
	return files.Tree(rules)
}

func (s store) paths(rules cache.Rules) []string {
	s.t.Helper()
	tree, err := s.tree(rules)
	if err != nil {
		s.t.Fatal(err)
	}
	var paths []string
	for _, f := range tree.Files() {
		paths = append(paths, f.Path)
	}
	return paths
}

func (s store) key() cache.Key {
	s.t.Helper()
	tree, err := s.tree(cache.Rules{})
	if err != nil {
		s.t.Fatal(err)
	}
	return tree.Key
}

func TestTreeShipsWhatRulesSay(t *testing.T) {
	files := map[string]string{
		"c/manifest.toa.yaml":        "name: c",
		"c/operations/add.js":        "1",
		"c/operations/add.test.js":   "2",
		"c/lib/deep/x.js":            "3",
		"c/node_modules/p/index.js":  "4",
		"c/package-lock.json":        "5",
		"c/lib/package-lock.json":    "6",
		"c/.env":                     "7",
		"c/debug.log":                "8",
		"c/README.md":                "9",
		"c/lib/link.js":              "-> deep/x.js",
		"c/bin/run":                  "x:#!/bin/sh",
		"c/coverage/index.html":      "10",
		"c/lib/coverage/index.html":  "11",
		"c/__tests__/helper.js":      "12",
		"c/types.d.ts":               "13",
		"c/Dockerfile.dev":           "14",
		"c/migrations/0001.yaml":     "15",
		"c/operations/.hidden":       "16",
		"c/lib/deep/node_modules/py": "17",
		"c/.npmrc":                   "18",
		"c/lib/.npmrc":               "19",
	}
	all := []string{
		"README.md", "bin/run", "lib/coverage/index.html", "lib/deep/x.js", "lib/link.js", "lib/package-lock.json",
		"manifest.toa.yaml", "migrations/0001.yaml", "operations/.hidden", "operations/add.js",
	}
	tests := map[string]struct {
		rules  cache.Rules
		own    string
		remove []string
		add    []string
	}{
		"everything but the built-in patterns": {},
		"ignore adds":                          {rules: cache.Rules{Ignore: []string{"**/*.md", "lib/deep"}}, remove: []string{"README.md", "lib/deep/x.js"}},
		"an exclamation mark takes a built-in pattern back": {
			rules: cache.Rules{Ignore: []string{"!*.log", "!**/*.test.*", "!.npmrc"}}, add: []string{".npmrc", "debug.log", "lib/.npmrc", "operations/add.test.js"},
		},
		"own file with an exception": {own: "lib\n!lib/deep/x.js\n# comment\n", remove: []string{"lib/coverage/index.html", "lib/link.js", "lib/package-lock.json"}},
		"root file":                  {rules: cache.Rules{Root: []string{"c/bin", "other/README.md"}}, remove: []string{"bin/run"}},
		"files": {
			rules:  cache.Rules{Files: []string{"operations", "lib/**/*.js"}, Always: []string{"manifest.toa.yaml"}},
			remove: []string{"README.md", "bin/run", "lib/coverage/index.html", "lib/package-lock.json", "migrations/0001.yaml"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, files)
			if test.own != "" {
				write(t, s.root, map[string]string{"c/.toaignore": test.own})
			}
			want := slices.Sorted(slices.Values(append(slices.Clone(test.add), all...)))
			want = slices.DeleteFunc(want, func(p string) bool { return slices.Contains(test.remove, p) })
			for _, pass := range []string{"scanned", "known"} {
				if got := s.paths(test.rules); !slices.Equal(got, want) {
					t.Errorf("%s: got %q\nwant %q", pass, got, want)
				}
			}
		})
	}
}

func TestKeyMovesWithWhatShips(t *testing.T) {
	base := map[string]string{
		"c/manifest.toa.yaml": "name: c", "c/a.js": "aaaa", "c/b/b.js": "bbbb", "c/l": "-> a.js", "c/.toaignore": "ignored*\n", "c/ignored": "x",
	}
	tests := map[string]struct {
		change func(root string) error
		moves  bool
	}{
		"a byte":             {func(r string) error { return os.WriteFile(r+"/c/a.js", []byte("aaab"), 0o644) }, true},
		"a rename":           {func(r string) error { return os.Rename(r+"/c/a.js", r+"/c/aa.js") }, true},
		"a move":             {func(r string) error { return os.Rename(r+"/c/b/b.js", r+"/c/b.js") }, true},
		"an x-bit":           {func(r string) error { return os.Chmod(r+"/c/a.js", 0o755) }, true},
		"a link target":      {func(r string) error { _ = os.Remove(r + "/c/l"); return os.Symlink("b/b.js", r+"/c/l") }, true},
		"an empty file":      {func(r string) error { return os.WriteFile(r+"/c/empty", nil, 0o644) }, true},
		"a removal":          {func(r string) error { return os.Remove(r + "/c/b/b.js") }, true},
		"file for link":      {func(r string) error { _ = os.Remove(r + "/c/l"); return os.WriteFile(r+"/c/l", []byte("a.js"), 0o644) }, true},
		"ignore patterns":    {func(r string) error { return os.WriteFile(r+"/c/.toaignore", []byte("nothing\n"), 0o644) }, true},
		"other mode bits":    {func(r string) error { return os.Chmod(r+"/c/a.js", 0o600) }, false},
		"times":              {func(r string) error { return os.Chtimes(r+"/c/a.js", time.Now(), time.Now().Add(3*long)) }, false},
		"an ignored file":    {func(r string) error { return os.WriteFile(r+"/c/ignored2", []byte("y"), 0o644) }, false},
		"an empty directory": {func(r string) error { return os.Mkdir(r+"/c/void", 0o755) }, false},
		"the same bytes again": {func(r string) error {
			_ = os.Remove(r + "/c/a.js")
			return os.WriteFile(r+"/c/a.js", []byte("aaaa"), 0o644)
		}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, base)
			before := s.key()
			if again := s.key(); again != before {
				t.Fatalf("key moved without a change: %s, %s", before, again)
			}
			if err := test.change(s.root); err != nil {
				t.Fatal(err)
			}
			if after := s.key(); (after != before) != test.moves {
				t.Errorf("moved: %t, want %t", after != before, test.moves)
			}
		})
	}
}

// The rewritten file has the size and the mtime of the one before, which is
// all that several build tools look at.
func TestSameSizeAndTimeIsNoticed(t *testing.T) {
	s := newStore(t, map[string]string{"c/a.js": "0000000"})
	path := filepath.Join(s.root, "c/a.js")
	for _, stamp := range []time.Time{time.Now().Add(long), time.Now().Add(long).Truncate(time.Second)} {
		seen := map[cache.Key]bool{}
		for i := range 300 {
			if err := os.WriteFile(path, fmt.Appendf(nil, "%07d", i), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, stamp, stamp); err != nil {
				t.Fatal(err)
			}
			key := s.key()
			if seen[key] {
				t.Fatalf("rewrite %d kept the key %s", i, key)
			}
			seen[key] = true
		}
	}
}

func TestWhatCannotShipIsNamed(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		do    func(root string) error
		want  string
	}{
		"a link out":              {files: map[string]string{"c/l": "-> ../../etc"}, want: `c/l: the link leads out of the component, to "../../etc"`},
		"an absolute link":        {files: map[string]string{"c/l": "-> /etc/passwd"}, want: `c/l: the link leads out of the component, to "/etc/passwd"`},
		"a link out by a link":    {files: map[string]string{"c/d/up": "-> ..", "c/l": "-> d/up/../.."}, want: `c/l: the link leads out of the component, to "d/up/../.."`},
		"a link to the workspace": {files: map[string]string{"c/l": "-> .."}, want: `c/l: the link leads out of the component, to ".."`},
		"a pipe":                  {files: map[string]string{"c/a": ""}, do: func(r string) error { return mkfifo(r + "/c/pipe") }, want: "c/pipe: it is neither a file, a directory nor a link, and cannot be shipped"},
		"a bad name":              {files: map[string]string{"c/bad\xff": ""}, want: "c/bad\xff: the name is not valid UTF-8"},
		"no directory":            {files: map[string]string{"d/a": ""}, want: "c: open: no such file or directory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, test.files)
			if test.do != nil {
				if err := test.do(s.root); err != nil {
					t.Fatal(err)
				}
			}
			_, err := s.tree(cache.Rules{})
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
	t.Run("ignored things are not looked at", func(t *testing.T) {
		s := newStore(t, map[string]string{"c/a": "", "c/l": "-> /etc", "c/.toaignore": "l\npipe\n"})
		if err := mkfifo(s.root + "/c/pipe"); err != nil {
			t.Fatal(err)
		}
		if got, want := s.paths(cache.Rules{}), []string{"a"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("links inside are kept", func(t *testing.T) {
		s := newStore(t, map[string]string{"c/a": "", "c/d/e/l": "-> ../../a", "c/m": "-> d/e"})
		if got, want := s.paths(cache.Rules{}), []string{"a", "d/e/l", "m"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// A file that was young when it was read is read again, whatever its stamp says.
func TestYoungFilesAreReadAgain(t *testing.T) {
	s := newStore(t, map[string]string{"c/a.js": "1"})
	path := filepath.Join(s.root, "c/a.js")
	future := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, future, future); err != nil {
		t.Fatal(err)
	}
	before := s.key()
	if err := os.WriteFile(path, []byte("2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, future, future); err != nil {
		t.Fatal(err)
	}
	if s.key() == before {
		t.Error("a rewrite within the granularity of time was missed")
	}
}

// Large files are hashed by several hands, and come to what they do alone.
func TestLargeFilesAreHashedAlike(t *testing.T) {
	files := map[string]string{"c/small": "s"}
	var want []cache.File
	for i := range 12 {
		content := strings.Repeat(fmt.Sprint(i), 300<<10)
		name := fmt.Sprintf("large%02d", i)
		files["c/"+name] = content
		want = append(want, cache.Generated(name, []byte(content)))
	}
	want = append(want, cache.Generated("small", []byte("s")))
	s := newStore(t, files)
	tree, err := s.tree(cache.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if got := cache.NewTree(want); tree.Key != got.Key {
		t.Errorf("key %s, want %s", tree.Key, got.Key)
	}
}
