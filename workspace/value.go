package workspace

import "strings"

// place is where something stands in a file; both count from 1.
type place struct{ line, column int }

type kind uint8

const (
	// kindBroken was reported already: nobody complains about it again.
	kindBroken kind = iota
	kindNull
	kindText
	kindInteger
	kindFloat
	kindBoolean
	kindList
	kindObject
)

// value is what YAML says, with every scalar kept as it is written. Aliases
// and merge keys are resolved, so no two parents share a value.
type value struct {
	kind   kind
	at     place
	text   string   // of a scalar
	items  []*value // of a list
	fields []field  // of an object, in order
	// dropped are fields of an object that belong to other environments.
	dropped []field
}

type field struct {
	key   string
	at    place
	value *value
}

// find returns the field with the key, or nil.
func (v *value) find(key string) *field {
	for i := range v.fields {
		if v.fields[i].key == key {
			return &v.fields[i]
		}
	}
	return nil
}

// describe names the value without quoting it: it may be a secret.
func (v *value) describe() string {
	switch v.kind {
	case kindNull:
		return "null"
	case kindText:
		return "text"
	case kindInteger, kindFloat:
		return "a number"
	case kindBoolean:
		return strings.ToLower(v.text)
	case kindList:
		return "a list"
	default:
		return "an object"
	}
}
