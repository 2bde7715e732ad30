package document

import "strings"

// Place is where something stands in a file; both count from 1.
type Place struct{ Line, Column int }

// Kind says what a value is.
type Kind uint8

// Kinds of values.
const (
	// Broken was reported already: nobody complains about it again.
	Broken Kind = iota
	Null
	Text
	Integer
	Float
	Boolean
	List
	Object
)

// Value is what YAML says, with every scalar kept as it is written. Aliases
// and merge keys are resolved, so no two parents share a value.
type Value struct {
	Kind   Kind
	At     Place
	Text   string   // of a scalar
	Items  []*Value // of a list
	Fields []Field  // of an object, in order
	// Dropped are fields of an object that say something elsewhere, such as in
	// other environments: only their keys are looked at.
	Dropped []Field
}

// Field is a key of an object with its value.
type Field struct {
	Key   string
	At    Place
	Value *Value
}

// Find returns the field with the key, or nil.
func (v *Value) Find(key string) *Field {
	for i := range v.Fields {
		if v.Fields[i].Key == key {
			return &v.Fields[i]
		}
	}
	return nil
}

// Describe names the value without quoting it: it may be a secret.
func (v *Value) Describe() string {
	switch v.Kind {
	case Null:
		return "null"
	case Text:
		return "text"
	case Integer, Float:
		return "a number"
	case Boolean:
		return strings.ToLower(v.Text)
	case List:
		return "a list"
	default:
		return "an object"
	}
}
