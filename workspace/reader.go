package workspace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// reader hands the values of one file to those who want them and collects what
// is wrong on the way.
type reader struct {
	file     string
	path     []string // keys that lead to the value at hand
	key      place    // of the key at hand
	errors   []*Error
	mentions []mention
}

// mention is a key that was read and is not acted on yet.
type mention struct {
	kind string
	at   place
}

// want takes the value of a key.
type want func(v *value)

// keys are all keys that an object may have.
type keys map[string]want

func (r *reader) fail(at place, fix, format string, args ...any) {
	r.errors = append(r.errors, &Error{
		Position: r.position(at),
		Msg:      fmt.Sprintf(format, args...),
		Fix:      fix,
	})
}

func (r *reader) position(at place) Position {
	return Position{File: r.file, Line: at.line, Column: at.column}
}

// where is the path of the value at hand: "registry.platforms[1]".
func (r *reader) where() string {
	return strings.Join(r.path, "")
}

func (r *reader) under(step string, visit func()) {
	if len(r.path) > 0 && !strings.HasPrefix(step, "[") {
		step = "." + step
	}
	r.path = append(r.path, step)
	visit()
	r.path = r.path[:len(r.path)-1]
}

func (r *reader) expected(v *value, fix, what string) {
	if v.kind != kindBroken {
		r.fail(v.at, fix, "%s: expected %s, found %s", r.where(), what, v.describe())
	}
}

// object reads an object that has no other keys than those known.
func (r *reader) object(v *value, known keys) {
	if v.kind != kindObject {
		r.expected(v, "", "an object")
		return
	}
	for _, f := range v.fields {
		if take := known[f.key]; take != nil {
			r.field(f, take)
		} else {
			r.unknown(f, known)
		}
	}
	for _, f := range v.dropped {
		if known[f.key] == nil {
			r.unknown(f, known)
		}
	}
}

func (r *reader) field(f field, take want) {
	step := f.key
	if !plainKey(step) {
		step = quote(step)
	}
	r.under(step, func() {
		r.key = f.at
		take(f.value)
	})
}

func plainKey(key string) bool {
	return key != "" && len(key) <= 80 && strings.IndexFunc(key, func(c rune) bool {
		return c != '_' && c != '-' && c != '/' && c != '*' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) < 0
}

func (r *reader) unknown(f field, known keys) {
	const few = 8
	names := slices.Sorted(maps.Keys(known))
	expected, rest := "a known one", "known keys: "+strings.Join(names, ", ")
	if len(names) <= few {
		expected, rest = strings.Join(names, ", "), ""
	}
	where := ""
	if len(r.path) > 0 {
		where = " in " + r.where()
	}
	r.fail(f.at, cmp.Or(unknownFix(f.key, names), rest), "unknown key %s%s, expected %s", quote(f.key), where, expected)
}

func unknownFix(key string, known []string) string {
	base, _, suffixed := cutEnvironment(key)
	switch {
	case strings.HasPrefix(key, "@"):
		return "the name of a package belongs under `annotations` of a context or `extensions` of a manifest"
	case suffixed && slices.Contains(known, base):
		return "a manifest has no overlays: state `" + base + "` without the environment, or put what differs into " + ContextFile
	}
	if near := nearest(base, known); near != "" {
		return "did you mean " + quote(near) + "?"
	}
	return ""
}

// require reports keys that an object must have.
func (r *reader) require(v *value, names ...string) {
	if v.kind != kindObject {
		return
	}
	for _, name := range names {
		if v.find(name) == nil {
			r.under(name, func() { r.fail(v.at, "", "%s is missing, expected it to be stated", r.where()) })
		}
	}
}

// check returns what was expected, or "" where text is just that.
type check func(text string) (expected string)

// text reads a scalar as it is written: 1.10 stays "1.10".
func (r *reader) text(target *string, checks ...check) want {
	return func(v *value) {
		switch v.kind {
		case kindText, kindInteger, kindFloat:
		case kindBoolean:
			r.expected(v, fmt.Sprintf("put quotes around %s if that is the text", v.text), "text")
			return
		default:
			r.expected(v, "", "text")
			return
		}
		for _, c := range append([]check{harmless}, checks...) {
			if what := c(v.text); what != "" {
				r.fail(v.at, "", "%s: expected %s, found %s", r.where(), what, shown(v.text))
				return
			}
		}
		*target = v.text
	}
}

// shown quotes text unless it may carry a password, as in user:password@host.
func shown(text string) string {
	if user, _, at := strings.Cut(text, "@"); at && strings.Contains(user, ":") {
		return "text with a colon before an @, not shown"
	}
	return quote(text)
}

// list reads at least one item; each gets its own want.
func (r *reader) list(item want) want {
	return func(v *value) {
		switch {
		case v.kind != kindList:
			r.expected(v, "", "a list")
			return
		case len(v.items) == 0:
			r.fail(v.at, "remove the key if there is nothing to list", "%s: expected at least one item, found an empty list", r.where())
			return
		}
		for i, one := range v.items {
			r.under("["+strconv.Itoa(i)+"]", func() { item(one) })
		}
	}
}

// texts reads a list of different texts.
func (r *reader) texts(target *[]string, checks ...check) want {
	seen := map[string]bool{}
	return r.list(func(v *value) {
		var text string
		before := len(r.errors)
		r.text(&text, checks...)(v)
		switch {
		case len(r.errors) > before || v.kind == kindBroken:
		case seen[text]:
			r.fail(v.at, "keep one of them", "%s: expected every item once, found %s again", r.where(), quote(text))
		default:
			seen[text] = true
			*target = append(*target, text)
		}
	})
}

func (r *reader) integer(target *int, least int) want {
	return func(v *value) {
		what := fmt.Sprintf("a whole number, %d or more", least)
		if v.kind != kindInteger {
			r.expected(v, "", what)
			return
		}
		n, err := strconv.Atoi(v.text)
		if err != nil || n < least || n > 1<<31-1 {
			r.fail(v.at, "", "%s: expected %s, found %s", r.where(), what, quote(v.text))
			return
		}
		*target = n
	}
}

func (r *reader) boolean(target *bool) want {
	return func(v *value) {
		if v.kind != kindBoolean {
			r.expected(v, "", "true or false")
			return
		}
		*target = strings.EqualFold(v.text, "true")
	}
}

// either chooses by what the value is: scalars and lists go to the first,
// objects to the second.
func (r *reader) either(simple want, known keys) want {
	return func(v *value) {
		if v.kind == kindObject {
			r.object(v, known)
			return
		}
		simple(v)
	}
}

func (r *reader) sub(known keys) want {
	return func(v *value) { r.object(v, known) }
}

// nullable takes null for an answer.
func (r *reader) nullable(take want) want {
	return func(v *value) {
		if v.kind != kindNull {
			take(v)
		}
	}
}

// some takes a value of one of the kinds and leaves what is in it to others.
func (r *reader) some(what string, kinds ...kind) want {
	return func(v *value) {
		if !slices.Contains(kinds, v.kind) {
			r.expected(v, "", what)
		}
	}
}

// each gives every field of an object, whatever its key, to take.
func (r *reader) each(take func(key string) want) want {
	return func(v *value) {
		if v.kind != kindObject {
			r.expected(v, "", "an object")
			return
		}
		for _, f := range v.fields {
			r.field(f, take(f.key))
		}
	}
}

// later notes a key that is known and not acted on yet, and checks its value.
func (r *reader) later(kind string, take want) want {
	return func(v *value) {
		r.mentions = append(r.mentions, mention{kind: kind, at: r.key})
		take(v)
	}
}

// refuse explains a key that belongs elsewhere.
func (r *reader) refuse(why, fix string) want {
	return func(*value) { r.fail(r.key, fix, "%s: %s", r.where(), why) }
}

func anything(*value) {}
