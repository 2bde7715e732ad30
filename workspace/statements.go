package workspace

import (
	"slices"
	"strings"

	"toa.io/toa/document"
)

// statements gathers what a file says to packages, under their shortcuts or
// full names.
type statements struct {
	*reader
	list []Annotation
}

// shortcutKeys adds the shortcuts to the keys of an object.
func (s *statements) shortcutKeys(known document.Keys, about string) document.Keys {
	for name, reference := range shortcuts {
		known[name] = document.Want{Take: func(v *document.Value) { s.add(reference, v) }}.About(about + reference)
	}
	return known
}

// packages reads a map of packages to what is said to them.
func (s *statements) packages(check document.Check) document.Want {
	return s.Each(func(key string) document.Want {
		return document.Want{Take: func(v *document.Value) {
			if what := check.Expects(key); what != "" {
				s.Fail(s.Key(), variantFix(key), "%s: expected %s as a key", s.Where(), what)
				return
			}
			s.add(Resolve(key), v)
		}}
	})
}

// variantFix explains what a name that starts with @ cannot have.
func variantFix(key string) string {
	if strings.Count(key, "@") < 2 {
		return ""
	}
	return "a name that starts with @ has no variants for environments: use its shortcut, or put the variants below it"
}

func (s *statements) add(reference string, v *document.Value) {
	if text, gone := removed[reference]; gone {
		s.mentions = append(s.mentions, mention{text: text, at: s.Key()})
	}
	for i := range s.list {
		if first := &s.list[i]; first.Package == reference {
			first.Value = s.merge(first.Value, v)
			return
		}
	}
	s.list = append(s.list, Annotation{Package: reference, Value: v, Position: s.Position(s.Key())})
}

// sorted lists what was gathered by package.
func (s *statements) sorted() []Annotation {
	slices.SortFunc(s.list, func(a, b Annotation) int { return strings.Compare(a.Package, b.Package) })
	return s.list
}

// merge joins what is said in two places; they must not contradict each other.
func (r *reader) merge(first, second *document.Value) *document.Value {
	if first.Kind != document.Object || second.Kind != document.Object {
		if !same(first, second) {
			r.Fail(second.At, "state it once", "%s: expected what line %d says, found something else", r.Where(), first.At.Line)
		}
		return first
	}
	merged := *first
	merged.Fields = slices.Clone(first.Fields)
	merged.Dropped = slices.Concat(first.Dropped, second.Dropped)
	for _, f := range second.Fields {
		stated := merged.Find(f.Key)
		if stated == nil {
			merged.Fields = append(merged.Fields, f)
			continue
		}
		r.Under(document.Step(f.Key), func() { stated.Value = r.merge(stated.Value, f.Value) })
	}
	return &merged
}

func same(a, b *document.Value) bool { return string(a.JSON()) == string(b.JSON()) }
