package document

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Reader hands the values of one file to those who want them and collects what
// is wrong on the way. It is for one goroutine.
type Reader struct {
	// Unknown says how to mend a key that nobody wants, or returns "". Without
	// it, the nearest known key is suggested.
	Unknown func(key string, known []string) string

	file   string
	path   []string // keys that lead to the value at hand
	key    Place    // of the key at hand
	errors []*Error
}

// NewReader makes a reader whose errors are in file, a slash path below the
// root of the workspace.
func NewReader(file string) *Reader { return &Reader{file: file} }

// File is what the reader's errors name.
func (r *Reader) File() string { return r.file }

// Errors are all mistakes found so far, in the order found.
func (r *Reader) Errors() []*Error { return r.errors }

// Report adds a mistake that has a position of its own.
func (r *Reader) Report(e *Error) { r.errors = append(r.errors, e) }

// Fail adds a mistake at a place of the file; fix may be empty.
func (r *Reader) Fail(at Place, fix, format string, args ...any) {
	r.Report(&Error{Position: r.Position(at), Msg: fmt.Sprintf(format, args...), Fix: fix})
}

// Expected reports that a value is of another kind. It does not quote the
// value, and is silent about what was reported already.
func (r *Reader) Expected(v *Value, fix, what string) {
	if v.Kind != Broken {
		r.Fail(v.At, fix, "%s: expected %s, found %s", r.Where(), what, v.Describe())
	}
}

// Position is a place in the reader's file.
func (r *Reader) Position(at Place) Position {
	return Position{File: r.file, Line: at.Line, Column: at.Column}
}

// Key is where the key at hand stands.
func (r *Reader) Key() Place { return r.key }

// Where is the path of the value at hand: "registry.platforms[1]".
func (r *Reader) Where() string { return strings.Join(r.path, "") }

// Under visits with a step added to the path: Step of a key, or an index in
// brackets.
func (r *Reader) Under(step string, visit func()) {
	if len(r.path) > 0 && !strings.HasPrefix(step, "[") {
		step = "." + step
	}
	r.path = append(r.path, step)
	visit()
	r.path = r.path[:len(r.path)-1]
}

// Object reads an object that has no other keys than those known.
func (r *Reader) Object(v *Value, known Keys) {
	r.object(v, known, func(f Field) { r.unknown(f, known) })
}

// object reads the known keys of v and gives the others away, also those that
// were dropped.
func (r *Reader) object(v *Value, known Keys, other func(Field)) {
	if v.Kind != Object {
		r.Expected(v, "", "an object")
		return
	}
	for _, f := range v.Fields {
		if want, wanted := known[f.Key]; wanted {
			r.field(f, want)
		} else {
			other(f)
		}
	}
	for _, f := range v.Dropped {
		if _, wanted := known[f.Key]; !wanted {
			other(f)
		}
	}
}

func (r *Reader) field(f Field, want Want) {
	r.Under(Step(f.Key), func() {
		r.key = f.At
		want.Take(f.Value)
	})
}

// Step is a key as it stands in a path: quoted if it would be misread there.
func Step(key string) string {
	if PlainKey(key) {
		return key
	}
	return Quote(key)
}

// PlainKey tells whether a key can be shown without quotes.
func PlainKey(key string) bool {
	return key != "" && len(key) <= 80 && strings.IndexFunc(key, func(c rune) bool {
		return c != '_' && c != '-' && c != '/' && c != '*' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) < 0
}

func (r *Reader) unknown(f Field, known Keys) {
	const few = 8
	names := slices.Sorted(maps.Keys(known))
	expected, rest := "a known one", "known keys: "+strings.Join(names, ", ")
	if len(names) <= few {
		expected, rest = strings.Join(names, ", "), ""
	}
	where := ""
	if len(r.path) > 0 {
		where = " in " + r.Where()
	}
	r.Fail(f.At, cmp.Or(r.mend(f.Key, names), rest), "unknown key %s%s, expected %s", Quote(f.Key), where, expected)
}

func (r *Reader) mend(key string, known []string) string {
	if r.Unknown != nil {
		return r.Unknown(key, known)
	}
	return Suggest(key, known)
}

// Require reports keys that an object must have.
func (r *Reader) Require(v *Value, names ...string) {
	if v.Kind != Object {
		return
	}
	for _, name := range names {
		if v.Find(name) == nil {
			r.Under(name, func() { r.Fail(v.At, "", "%s is missing, expected it to be stated", r.Where()) })
		}
	}
}
