package document

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Dialect is the JSON Schema that schemas are written in.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// Schema is a JSON Schema, as far as we need one.
type Schema struct {
	Dialect           string             `json:"$schema,omitempty"`
	Ref               string             `json:"$ref,omitempty"`
	Title             string             `json:"title,omitempty"`
	Description       string             `json:"description,omitempty"`
	Type              Types              `json:"type,omitempty"`
	Enum              []string           `json:"enum,omitempty"`
	Pattern           string             `json:"pattern,omitempty"`
	Minimum           *int               `json:"minimum,omitempty"`
	Items             *Schema            `json:"items,omitempty"`
	MinItems          int                `json:"minItems,omitempty"`
	MaxItems          int                `json:"maxItems,omitempty"`
	UniqueItems       bool               `json:"uniqueItems,omitempty"`
	Required          []string           `json:"required,omitempty"`
	MinProperties     int                `json:"minProperties,omitempty"`
	Properties        map[string]*Schema `json:"properties,omitempty"`
	PatternProperties map[string]*Schema `json:"patternProperties,omitempty"`
	// AdditionalProperties is nil where any may follow.
	AdditionalProperties *Schema   `json:"additionalProperties,omitempty"`
	AnyOf                []*Schema `json:"anyOf,omitempty"`
	AllOf                []*Schema `json:"allOf,omitempty"`
	Not                  *Schema   `json:"not,omitempty"`
	// Never allows nothing: all else is left out.
	Never bool `json:"-"`
}

// MarshalJSON writes the schema that allows nothing as false.
func (s *Schema) MarshalJSON() ([]byte, error) {
	if s.Never {
		return []byte("false"), nil
	}
	type plain Schema
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode((*plain)(s))
	return out.Bytes(), err
}

// Types are the types that a schema allows.
type Types []string

// MarshalJSON writes a single type without a list, as people do.
func (t Types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

func typesOf(kinds []Kind) Types {
	names := map[Kind]string{
		Null: "null", Text: "string", Integer: "integer", Float: "number",
		Boolean: "boolean", List: "array", Object: "object",
	}
	var types Types
	for _, kind := range kinds {
		types = append(types, names[kind])
	}
	return types
}

// Schema describes an object with these keys and no others.
func (k Keys) Schema(required ...string) *Schema {
	s := &Schema{
		Type: Types{"object"}, Required: required, Properties: make(map[string]*Schema, len(k)),
		AdditionalProperties: &Schema{Never: true},
	}
	for name, want := range k {
		if property := want.Describe(); property != nil {
			s.Properties[name] = property
		}
	}
	return s
}

// Overlays allows key@environment beside every key of every object below. A
// required key may be stated for environments only.
func (s *Schema) Overlays() { s.overlays("#") }

func (s *Schema) overlays(pointer string) {
	if s == nil || s.Never {
		return
	}
	names := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range names {
		s.Properties[name].overlays(pointer + "/properties/" + escapePointer(name))
	}
	for _, name := range names {
		if s.PatternProperties == nil {
			s.PatternProperties = map[string]*Schema{}
		}
		s.PatternProperties[variants(name)] = &Schema{Ref: pointer + "/properties/" + escapePointer(name)}
	}
	for _, name := range s.Required {
		s.AllOf = append(s.AllOf, stated(name))
	}
	s.Required = nil
	s.Items.overlays(pointer + "/items")
	s.AdditionalProperties.overlays(pointer + "/additionalProperties")
	for i, one := range s.AnyOf {
		one.overlays(pointer + "/anyOf/" + strconv.Itoa(i))
	}
}

// variants matches the forms of a key for environments.
func variants(name string) string { return "^" + regexp.QuoteMeta(name) + "@.+$" }

// stated allows objects that have the key or a variant of it.
func stated(name string) *Schema {
	none := &Schema{PatternProperties: map[string]*Schema{variants(name): {Never: true}}}
	return &Schema{AnyOf: []*Schema{{Required: []string{name}}, {Not: none}}}
}

func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// Encode writes the schema for people to read: equal schemas are equal bytes.
func (s *Schema) Encode() []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(s) // neither texts and numbers nor a buffer can fail
	return out.Bytes()
}
