package document

import (
	"maps"
	"slices"
	"strconv"
)

// Want is what is wanted of the value of a key: Take reads it, Schema says the
// same to editors. Schema may be nil: anything goes.
type Want struct {
	Take   func(*Value)
	Schema func() *Schema

	description string
}

// Keys are all keys that an object may have.
type Keys map[string]Want

// Describe is the schema of the value; nil if no value will do.
func (w Want) Describe() *Schema {
	if w.Schema == nil {
		return &Schema{Description: w.description}
	}
	schema := w.Schema()
	if schema != nil && w.description != "" {
		schema.Description = w.description
	}
	return schema
}

// About adds a description to the schema.
func (w Want) About(description string) Want {
	w.description = description
	return w
}

// Then takes the value and calls next with it.
func (w Want) Then(next func(*Value)) Want {
	return Want{Take: func(v *Value) { w.Take(v); next(v) }, Schema: w.Schema}
}

// Anything takes every value.
func Anything() Want { return Want{Take: func(*Value) {}} }

// Sub reads an object with known keys, some of which must be there.
func (r *Reader) Sub(known Keys, required ...string) Want {
	return Want{
		Take: func(v *Value) {
			r.Object(v, known)
			r.Require(v, required...)
		},
		Schema: func() *Schema { return known.Schema(required...) },
	}
}

// Open reads an object that may have keys of others besides the known ones. A
// key that is nearly a known one is a mistake all the same.
func (r *Reader) Open(known Keys, required ...string) Want {
	names := slices.Sorted(maps.Keys(known))
	return Want{
		Take: func(v *Value) {
			r.object(v, known, func(f Field) {
				if Nearest(f.Key, names) != "" {
					r.unknown(f, known)
				}
			})
			r.Require(v, required...)
		},
		Schema: func() *Schema {
			schema := known.Schema(required...)
			schema.AdditionalProperties = nil
			return schema
		},
	}
}

// Each gives every field of an object, whatever its key, to take. For the
// schema it is asked about the key "".
func (r *Reader) Each(take func(key string) Want) Want {
	return Want{
		Take: func(v *Value) {
			if v.Kind != Object {
				r.Expected(v, "", "an object")
				return
			}
			for _, f := range v.Fields {
				r.field(f, take(f.Key))
			}
		},
		Schema: func() *Schema {
			return &Schema{Type: Types{"object"}, AdditionalProperties: take("").Describe()}
		},
	}
}

// List reads at least one item; each goes to item.
func (r *Reader) List(item Want) Want {
	return Want{
		Take: func(v *Value) {
			switch {
			case v.Kind != List:
				r.Expected(v, "", "a list")
				return
			case len(v.Items) == 0:
				r.Fail(v.At, "remove the key if there is nothing to list", "%s: expected at least one item, found an empty list", r.Where())
				return
			}
			for i, one := range v.Items {
				r.Under("["+strconv.Itoa(i)+"]", func() { item.Take(one) })
			}
		},
		Schema: func() *Schema {
			return &Schema{Type: Types{"array"}, Items: item.Describe(), MinItems: 1}
		},
	}
}

// Texts reads a list of different texts.
func (r *Reader) Texts(target *[]string, checks ...Check) Want {
	seen := map[string]bool{}
	var text string
	one := r.Text(&text, checks...)
	list := r.List(Want{Schema: one.Schema, Take: func(v *Value) {
		before := len(r.errors)
		one.Take(v)
		switch {
		case len(r.errors) > before || v.Kind == Broken:
		case seen[text]:
			r.Fail(v.At, "keep one of them", "%s: expected every item once, found %s again", r.Where(), Quote(text))
		default:
			seen[text] = true
			*target = append(*target, text)
		}
	}})
	return Want{Take: list.Take, Schema: func() *Schema {
		schema := list.Schema()
		schema.UniqueItems = true
		return schema
	}}
}

// Either chooses by what the value is: objects are read with the known keys,
// all else goes to simple.
func (r *Reader) Either(simple Want, known Keys) Want {
	return Choose(r.Sub(known), simple, Object)
}

// Choose gives values of the kinds to first and all else to second.
func Choose(first, second Want, kinds ...Kind) Want {
	return Want{
		Take: func(v *Value) {
			if slices.Contains(kinds, v.Kind) {
				first.Take(v)
				return
			}
			second.Take(v)
		},
		Schema: func() *Schema { return &Schema{AnyOf: []*Schema{second.Describe(), first.Describe()}} },
	}
}

// Nullable takes null for an answer.
func (r *Reader) Nullable(want Want) Want { return OrNull(want, func() {}) }

// OrNull calls null for null and gives all else to want.
func OrNull(want Want, null func()) Want {
	return Choose(Want{
		Take:   func(*Value) { null() },
		Schema: func() *Schema { return &Schema{Type: Types{"null"}} },
	}, want, Null)
}

// Some takes a value of one of the kinds and leaves what is in it to others.
func (r *Reader) Some(what string, kinds ...Kind) Want {
	return Want{
		Take: func(v *Value) {
			if !slices.Contains(kinds, v.Kind) {
				r.Expected(v, "", what)
			}
		},
		Schema: func() *Schema { return &Schema{Type: typesOf(kinds)} },
	}
}

// Optional reads into a new T, so that what is stated can be told from zero.
func Optional[T any](target **T, read func(*T) Want) Want {
	return Want{
		Take: func(v *Value) {
			*target = new(T)
			read(*target).Take(v)
		},
		Schema: func() *Schema { return read(new(T)).Describe() },
	}
}

// Refuse explains a key that belongs elsewhere. The schema does not have it.
func (r *Reader) Refuse(why, fix string) Want {
	return Want{
		Take:   func(*Value) { r.Fail(r.key, fix, "%s: %s", r.Where(), why) },
		Schema: func() *Schema { return nil },
	}
}
