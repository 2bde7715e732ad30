package extensions

import (
	"strconv"

	"toa.io/toa/document"
)

// Values that are made here and not read have no place: they end as JSON.

func text(s string) *document.Value {
	return &document.Value{Kind: document.Text, Text: s}
}

func number(n int) *document.Value {
	return &document.Value{Kind: document.Integer, Text: strconv.Itoa(n)}
}

func boolean(b bool) *document.Value {
	return &document.Value{Kind: document.Boolean, Text: strconv.FormatBool(b)}
}

func list(items ...*document.Value) *document.Value {
	return &document.Value{Kind: document.List, Items: items}
}

func texts(all []string) *document.Value {
	v := list()
	for _, one := range all {
		v.Items = append(v.Items, text(one))
	}
	return v
}

func object(fields ...document.Field) *document.Value {
	return &document.Value{Kind: document.Object, Fields: fields}
}

func field(key string, value *document.Value) document.Field {
	return document.Field{Key: key, Value: value}
}

// picked are the fields of an object with these keys, in this order.
func picked(v *document.Value, keys ...string) *document.Value {
	some := object()
	for _, key := range keys {
		if f := v.Find(key); f != nil {
			some.Fields = append(some.Fields, *f)
		}
	}
	return some
}

// encoded is a variable that holds a value as JSON.
func encoded(name string, v *document.Value) Variable {
	return Variable{Name: name, Value: string(v.JSON())}
}
