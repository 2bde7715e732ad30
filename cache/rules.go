package cache

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// IgnoreFile lists more patterns (.dockerignore syntax), in a component or at
// the workspace root. It is never copied itself.
const IgnoreFile = ".toaignore"

// Rules say which files of a directory are hashed and copied. One instance
// decides for the key, the layer and every listing.
//
// A file must be among Files (if any are given) and ignored by none of: the
// built-in patterns, Ignore, the directory's own .toaignore, Root. Exceptions
// ("!pattern") of .toaignore files hold within their own file.
type Rules struct {
	// Dir is the directory's slash path below the workspace root.
	Dir string
	// Always are paths that are shipped whatever the other rules say.
	Always []string
	// Files are paths and globs; a path means the file or everything below it.
	// Empty means everything.
	Files []string
	// Ignore are globs. "!x" takes exactly x from the built-in patterns.
	Ignore []string
	// Root are the patterns of the workspace's .toaignore, relative to the root.
	Root []string
}

// packed is what of the rules decides which files a listing holds, for
// comparing: a listing made by other rules is not used.
func (r Rules) packed() []byte {
	var p packer
	p.key(builtinKey)
	p.string(r.Dir)
	for _, patterns := range [][]string{r.Always, r.Files, r.Ignore, r.Root} {
		p.uint(uint64(len(patterns)))
		for _, pattern := range patterns {
			p.string(pattern)
		}
	}
	return p.buf
}

// builtin is one pattern that is ignored by default.
type builtin struct {
	text  string // as a manifest names it to take it back
	root  bool   // only directly in the component
	match func(name string) bool
}

func exact(name string) builtin {
	return builtin{text: name, match: func(s string) bool { return s == name }}
}

func suffix(end string) builtin {
	return builtin{text: "*" + end, match: func(s string) bool { return strings.HasSuffix(s, end) }}
}

func prefix(start string) builtin {
	return builtin{text: start + "*", match: func(s string) bool { return strings.HasPrefix(s, start) }}
}

func infix(middle string) builtin {
	return builtin{text: "*" + middle + "*", match: func(s string) bool { return strings.Contains(s, middle) }}
}

func atRoot(b builtin) builtin {
	b.root = true
	return b
}

// builtins are the reference's list for the node bridge (spec 2.1): what never
// belongs into an image, and lockfiles, which the dependencies image has; and
// .npmrc, which may hold a token: npm gets it while packages are installed. They
// are matched by hand because every name of a cold scan passes through them.
var builtins = []builtin{
	exact("node_modules"), exact(".git"), exact(".hg"), exact(".svn"), exact(".npmrc"),
	infix(".test."), infix(".spec."), exact("__tests__"), suffix(".d.ts"),
	prefix("Dockerfile"), exact(".dockerignore"), suffix(".tsbuildinfo"), suffix(".log"),
	exact(".DS_Store"), exact("Thumbs.db"), suffix(".swp"),
	atRoot(exact("package-lock.json")), atRoot(exact("npm-shrinkwrap.json")), atRoot(exact("yarn.lock")),
	atRoot(exact("pnpm-lock.yaml")), atRoot(prefix("bun.lock")), atRoot(exact("coverage")), atRoot(exact(".nyc_output")),
	atRoot(exact(".cache")), atRoot(exact(".idea")), atRoot(exact(".vscode")), atRoot(exact(".env")), atRoot(prefix(".env.")),
}

var builtinText = func() []string {
	texts := make([]string, len(builtins))
	for i, b := range builtins {
		texts[i] = b.text
	}
	return texts
}()

var builtinKey = Digest([]byte(strings.Join(builtinText, "\x00")))

// BuiltinIgnores lists the patterns that are ignored by default.
func BuiltinIgnores() []string { return builtinText }

// plain is how a pattern is compared with the built-in ones.
func plain(pattern string) string {
	return strings.Trim(strings.TrimPrefix(pattern, "**/"), "/")
}

// ParseIgnore reads the patterns of a .toaignore. A line that is no pattern is a
// *FileError; path names the file in it.
func ParseIgnore(path, text string) ([]string, error) {
	if text == "" {
		return nil, nil // of most directories; the reader below begins with a large buffer
	}
	lines, err := ignorefile.ReadAll(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if checkPatterns(lines) == nil {
		return lines, nil
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		one, err := ignorefile.ReadAll(strings.NewReader(line))
		if err == nil {
			err = checkPatterns(one)
		}
		if err != nil {
			return nil, &FileError{
				Path: path, Line: number,
				Msg: fmt.Sprintf("%q is no pattern: %v", strings.TrimSpace(line), err),
				Fix: "patterns are written as in .dockerignore: *, **, ?, [a-z], ! before an exception, \\ before a character that means itself",
			}
		}
	}
	return nil, fmt.Errorf("read %s: %w", path, checkPatterns(lines))
}

// checkPatterns finds what otherwise comes to light only when a pattern is first
// matched, which depends on the patterns before it.
func checkPatterns(patterns []string) error {
	if _, err := patternmatcher.New(patterns); err != nil {
		return err
	}
	for _, pattern := range patterns {
		m, err := patternmatcher.New([]string{strings.TrimPrefix(pattern, "!")})
		if err != nil {
			return err
		}
		if _, err := m.MatchesOrParentMatches("a"); err != nil {
			return err
		}
	}
	return nil
}

// Explain says whether a path below rules.Dir is shipped and which rule decides.
func (r Rules) Explain(own, path string) (shipped bool, rule string, err error) {
	m, err := r.compile(own)
	if err != nil {
		return false, "", err
	}
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		if v, err := m.decide(path[:i]); err != nil || v.prune {
			return false, v.rule + " (of " + path[:i] + ")", err
		}
	}
	v, err := m.decide(path)
	return v.ship, v.rule, err
}

// matcher is Rules made ready to match paths.
type matcher struct {
	always  []string
	builtin []builtin
	files   *patternmatcher.PatternMatcher
	ignores []ignoreSet
}

// ignoreSet is the patterns of one origin.
type ignoreSet struct {
	origin   string
	base     string // what paths are prefixed with before they are matched
	patterns []string
	matcher  *patternmatcher.PatternMatcher
}

// compile makes a matcher of the rules and of the text of the directory's own
// .toaignore.
func (r Rules) compile(own string) (*matcher, error) {
	m := &matcher{always: r.Always}
	taken := map[string]bool{}
	var ignore []string
	for _, pattern := range r.Ignore {
		if back, ok := strings.CutPrefix(pattern, "!"); ok {
			taken[plain(back)] = true
			continue
		}
		ignore = append(ignore, pattern)
	}
	m.builtin = builtins
	if len(taken) > 0 {
		m.builtin = slices.DeleteFunc(slices.Clone(builtins), func(b builtin) bool { return taken[b.text] })
	}
	for _, b := range builtins {
		delete(taken, b.text)
	}
	for _, pattern := range slices.Sorted(maps.Keys(taken)) {
		return nil, fmt.Errorf("ignore pattern %q takes back nothing: it is not one of the built-in patterns %s", "!"+pattern, strings.Join(builtinText, " "))
	}
	if len(r.Files) > 0 {
		files, err := patternmatcher.New(r.Files)
		if err != nil {
			return nil, fmt.Errorf("files pattern: %w", err)
		}
		m.files = files
	}
	lines, err := ParseIgnore(r.Dir+"/"+IgnoreFile, own)
	if err != nil {
		return nil, err
	}
	for _, set := range []ignoreSet{
		{origin: "manifest ignore", patterns: ignore},
		{origin: r.Dir + "/" + IgnoreFile, patterns: lines},
		{origin: IgnoreFile, base: r.Dir + "/", patterns: r.Root},
	} {
		if len(set.patterns) == 0 {
			continue
		}
		if set.matcher, err = patternmatcher.New(set.patterns); err != nil {
			return nil, fmt.Errorf("%s: %w", set.origin, err)
		}
		m.ignores = append(m.ignores, set)
	}
	return m, nil
}

// verdict is what becomes of a path and which rule says so.
type verdict struct {
	ship bool
	// prune says of an ignored directory that nothing below it is shipped.
	prune bool
	rule  string
}

// decide judges the path of a file or directory. Directories above it must
// have been judged before: of them it looks only at the name.
func (m *matcher) decide(path string) (verdict, error) {
	for _, always := range m.always {
		if path == always {
			return verdict{ship: true, rule: "always shipped"}, nil
		}
	}
	base, atRoot := path, true
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		base, atRoot = path[i+1:], false
	}
	for i := range m.builtin {
		if b := &m.builtin[i]; (!b.root || atRoot) && b.match(base) {
			return verdict{prune: true, rule: "built-in " + b.text}, nil
		}
	}
	if path == IgnoreFile {
		return verdict{rule: "lists patterns, never shipped"}, nil
	}
	for _, set := range m.ignores {
		ignored, err := set.matcher.MatchesOrParentMatches(set.base + path)
		if err != nil {
			return verdict{}, fmt.Errorf("%s: %w", set.origin, err)
		}
		if ignored {
			return verdict{prune: !set.matcher.Exclusions(), rule: set.origin + " " + set.blame(path)}, nil
		}
	}
	if m.files != nil {
		listed, err := m.files.MatchesOrParentMatches(path)
		if err != nil || !listed {
			return verdict{rule: "not among manifest files"}, err
		}
		return verdict{ship: true, rule: "manifest files"}, nil
	}
	return verdict{ship: true, rule: "everything is shipped by default"}, nil
}

// blame names the pattern that ignores path.
func (s ignoreSet) blame(path string) string {
	for _, pattern := range s.patterns {
		one, err := patternmatcher.New([]string{pattern})
		if err != nil {
			continue
		}
		if hit, err := one.MatchesOrParentMatches(s.base + path); err == nil && hit && !one.Exclusions() {
			return pattern
		}
	}
	return ""
}
