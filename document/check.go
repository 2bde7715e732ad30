package document

import (
	"slices"
	"strings"
	"unicode"

	"toa.io/toa/internal/lazyregexp"
)

// Check is a rule for text. Expects returns what was expected, or "" where the
// text is just that. Pattern and Enum say as much of it as a schema can.
type Check struct {
	Expects func(text string) string
	Pattern string
	Enum    []string
}

func (c Check) describe(s *Schema) {
	if c.Pattern != "" && s.Pattern == "" {
		s.Pattern = c.Pattern
	}
	if c.Enum != nil {
		s.Enum = c.Enum
	}
}

// Rule is a check that no schema can say.
func Rule(expects func(text string) string) Check { return Check{Expects: expects} }

// Matching wants text of a pattern, which must be one that JavaScript knows.
func Matching(pattern *lazyregexp.Regexp, expected string) Check {
	return Check{Pattern: pattern.String(), Expects: func(text string) string {
		if !pattern.MatchString(text) {
			return expected
		}
		return ""
	}}
}

// OneOf wants one of the choices.
func OneOf(choices ...string) Check {
	return Check{Enum: choices, Expects: func(text string) string {
		if !slices.Contains(choices, text) {
			return strings.Join(choices, " or ")
		}
		return ""
	}}
}

// harmless refuses what no key has a use for and terminals act upon.
var harmless = Rule(func(text string) string {
	if !Harmless(text) {
		return "text without control characters"
	}
	return ""
})

// Harmless tells whether text has no control characters but line breaks and
// tabs.
func Harmless(text string) bool {
	return strings.IndexFunc(text, func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }) < 0
}

// Filled wants text that is not blank.
var Filled = Check{Pattern: `\S`, Expects: func(text string) string {
	if strings.TrimSpace(text) == "" {
		return "some text"
	}
	return ""
}}

// OneWord wants text without spaces.
var OneWord = Check{Pattern: `^\S+$`, Expects: func(text string) string {
	if text == "" || strings.IndexFunc(text, unicode.IsSpace) >= 0 {
		return "text without spaces"
	}
	return ""
}}
