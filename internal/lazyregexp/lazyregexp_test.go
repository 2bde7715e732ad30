package lazyregexp_test

import (
	"reflect"
	"regexp"
	"testing"

	"toa.io/toa/internal/lazyregexp"
)

func TestItDoesAsRegexpDoes(t *testing.T) {
	const expression, text = `(\d+)-(\d+)`, "from 10-20 to 30-40"
	lazy, plain := lazyregexp.New(expression), regexp.MustCompile(expression)
	for name, pair := range map[string][2]any{
		"String":                  {lazy.String(), plain.String()},
		"MatchString":             {lazy.MatchString(text), plain.MatchString(text)},
		"MatchString of another":  {lazy.MatchString("-"), plain.MatchString("-")},
		"FindSubmatch":            {lazy.FindSubmatch([]byte(text)), plain.FindSubmatch([]byte(text))},
		"FindStringSubmatch":      {lazy.FindStringSubmatch(text), plain.FindStringSubmatch(text)},
		"FindStringSubmatchIndex": {lazy.FindStringSubmatchIndex(text), plain.FindStringSubmatchIndex(text)},
		"ReplaceAllString":        {lazy.ReplaceAllString(text, "$2"), plain.ReplaceAllString(text, "$2")},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: got %v, want %v", name, pair[0], pair[1])
		}
	}
}

// An expression costs nothing, and says what is wrong with it, when it is used.
func TestItIsCompiledWhenItIsUsed(t *testing.T) {
	wrong := lazyregexp.New(`(`)
	defer func() {
		if recover() == nil {
			t.Error("an expression that is wrong is used")
		}
	}()
	wrong.MatchString("")
}
