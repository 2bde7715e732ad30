package workspace

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first needed: a
// run whose files are all known needs none, and compiling them takes longer
// than such a run may.
type pattern struct{ compiled func() *regexp.Regexp }

func lazily(expression string) pattern {
	return pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
}

// MatchString tells whether the text matches.
func (p pattern) MatchString(text string) bool { return p.compiled().MatchString(text) }
