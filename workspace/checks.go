package workspace

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
)

// harmless refuses what no key has a use for and terminals act upon.
func harmless(text string) string {
	if strings.IndexFunc(text, func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }) >= 0 {
		return "text without control characters"
	}
	return ""
}

func filled(text string) string {
	if strings.TrimSpace(text) == "" {
		return "some text"
	}
	return ""
}

func oneWord(text string) string {
	if text == "" || strings.IndexFunc(text, unicode.IsSpace) >= 0 {
		return "text without spaces"
	}
	return ""
}

func matching(fits pattern, expected string) check {
	return func(text string) string {
		if !fits.MatchString(text) {
			return expected
		}
		return ""
	}
}

func oneOf(choices ...string) check {
	return func(text string) string {
		if !slices.Contains(choices, text) {
			return strings.Join(choices, " or ")
		}
		return ""
	}
}

// imageReference is checked lightly: what it names is known to a registry only.
func imageReference(text string) string {
	layout, isLayout := strings.CutPrefix(text, "oci-layout://")
	switch {
	case len(text) > 512 || oneWord(text) != "" || strings.HasPrefix(text, "-") || harmless(text) != "":
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

func absoluteURI(text string) string {
	uri, err := url.Parse(text)
	if err != nil || uri.Scheme == "" || uri.Host == "" {
		return "a URI such as https://registry.npmjs.org"
	}
	return ""
}

// relativePattern is a path or glob that stays where it starts.
func relativePattern(text string) string {
	if text == "" || strings.HasPrefix(text, "/") || slices.Contains(strings.Split(text, "/"), "..") {
		return "a relative path or glob without `..`"
	}
	if _, err := path.Match(text, ""); err != nil {
		return "a glob whose brackets are closed"
	}
	return ""
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
