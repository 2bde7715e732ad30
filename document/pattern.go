package document

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression that is compiled when it is first needed: a
// run whose files are all known needs none, and compiling them all takes
// longer than such a run may.
type Pattern struct {
	expression string
	compiled   func() *regexp.Regexp
}

// Lazy makes a pattern of an expression that is right.
func Lazy(expression string) *Pattern {
	return &Pattern{expression, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
}

// String is the expression.
func (p *Pattern) String() string { return p.expression }

// MatchString tells whether the text holds a match.
func (p *Pattern) MatchString(text string) bool { return p.compiled().MatchString(text) }

// Regexp is the compiled expression.
func (p *Pattern) Regexp() *regexp.Regexp { return p.compiled() }
