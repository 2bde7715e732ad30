package workspace

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/moby/patternmatcher"

	"toa.io/toa/document"
)

// imageReference is checked lightly: what it names is known to a registry only.
func imageReference(text string) string {
	layout, isLayout := strings.CutPrefix(text, "oci-layout://")
	switch {
	case len(text) > 512 || document.OneWord.Expects(text) != "" || strings.HasPrefix(text, "-") || !document.Harmless(text):
		return "an image reference"
	case isLayout && layout == "":
		return "oci-layout:// and a directory"
	case !isLayout && strings.Contains(text, "://"):
		return "an image reference without a scheme"
	}
	return ""
}

// repositoryBase is "host/path", either of which may be all there is.
func repositoryBase(text string) string {
	const expected = "host or host/path in lower case, without a scheme"
	host, rest, nested := strings.Cut(strings.TrimRight(text, "/"), "/")
	if !registryHost.MatchString(host) {
		return expected
	}
	if !nested {
		return ""
	}
	for step := range strings.SplitSeq(rest, "/") {
		if !pathComponent.MatchString(step) {
			return expected
		}
	}
	return ""
}

// helmRegistry is a repository base that Helm likes to see as oci://.
func helmRegistry(text string) string {
	return repositoryBase(strings.TrimPrefix(text, "oci://"))
}

var absoluteURI = document.Check{Pattern: "^[a-zA-Z][a-zA-Z0-9+.-]*://.", Expects: func(text string) string {
	uri, err := url.Parse(text)
	if err != nil || uri.Scheme == "" || uri.Host == "" {
		return "a URI such as https://registry.npmjs.org"
	}
	return ""
}}

// relativePattern is a path or glob that stays where it starts.
func relativePattern(text string) string {
	if text == "" || strings.HasPrefix(text, "/") || slices.Contains(strings.Split(text, "/"), "..") {
		return "a relative path or glob without `..`"
	}
	if _, err := path.Match(text, ""); err != nil {
		return "a glob whose brackets are closed"
	}
	if !matchable(text) {
		return "a glob with a backslash before nothing but punctuation"
	}
	return ""
}

// matchable tells whether paths can be matched by a pattern. What matches them
// later compiles it only then.
func matchable(pattern string) bool {
	m, err := patternmatcher.New([]string{pattern})
	if err != nil {
		return false
	}
	_, err = m.MatchesOrParentMatches("a")
	return err == nil
}

func ignorePattern(text string) string {
	return relativePattern(strings.TrimPrefix(text, "!"))
}

// packagesPattern is the glob that finds components.
func packagesPattern(text string) string {
	switch {
	case relativePattern(text) != "":
		return relativePattern(text)
	case strings.Contains(text, "**"):
		return "a glob that names each level of directories"
	case path.Clean(text) == ".":
		return "a glob of directories below the context"
	}
	return ""
}
