// Package lazyregexp holds regular expressions that are compiled when they are
// first needed: a run that finds nothing to do needs none, and compiling them all
// takes longer than such a run may.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression, compiled or not. Its methods are those of
// regexp.Regexp.
type Regexp struct {
	expression string
	compiled   func() *regexp.Regexp
}

// New is for an expression that is right: its first use panics otherwise.
func New(expression string) *Regexp {
	return &Regexp{expression, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
}

// String is the expression.
func (r *Regexp) String() string { return r.expression }

// MatchString tells whether the text holds a match.
func (r *Regexp) MatchString(text string) bool { return r.compiled().MatchString(text) }

// FindSubmatch returns the leftmost match and its groups, or nil.
func (r *Regexp) FindSubmatch(text []byte) [][]byte { return r.compiled().FindSubmatch(text) }

// FindStringSubmatch returns the leftmost match and its groups, or nil.
func (r *Regexp) FindStringSubmatch(text string) []string {
	return r.compiled().FindStringSubmatch(text)
}

// FindStringSubmatchIndex returns where the leftmost match and its groups are, or nil.
func (r *Regexp) FindStringSubmatchIndex(text string) []int {
	return r.compiled().FindStringSubmatchIndex(text)
}

// ReplaceAllString replaces all matches, in which $ stands for groups.
func (r *Regexp) ReplaceAllString(text, by string) string {
	return r.compiled().ReplaceAllString(text, by)
}
