package document_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"toa.io/toa/document"
)

// value is any value that a reader can make.
func value(depth int) *rapid.Generator[*document.Value] {
	return rapid.Custom(func(t *rapid.T) *document.Value {
		last := document.Object
		if depth == 0 {
			last = document.Boolean
		}
		v := &document.Value{Kind: rapid.SampledFrom(kinds(last)).Draw(t, "kind"), At: place().Draw(t, "at")}
		switch v.Kind {
		case document.List:
			v.Items = rapid.SliceOfN(value(depth-1), 1, 3).Draw(t, "items")
		case document.Object:
			v.Fields = rapid.SliceOfN(field(depth-1), 1, 3).Draw(t, "fields")
			v.Dropped = rapid.SliceOfN(field(depth-1), 1, 2).Draw(t, "dropped")
		default:
			v.Text = rapid.String().Draw(t, "text")
		}
		return v
	})
}

func kinds(last document.Kind) []document.Kind {
	var all []document.Kind
	for kind := document.Broken; kind <= last; kind++ {
		all = append(all, kind)
	}
	return all
}

func place() *rapid.Generator[document.Place] {
	return rapid.Custom(func(t *rapid.T) document.Place {
		return document.Place{Line: rapid.IntMin(0).Draw(t, "line"), Column: rapid.IntMin(0).Draw(t, "column")}
	})
}

func field(depth int) *rapid.Generator[document.Field] {
	return rapid.Custom(func(t *rapid.T) document.Field {
		return document.Field{
			Key: rapid.String().Draw(t, "key"), At: place().Draw(t, "at"), Value: value(depth).Draw(t, "value"),
		}
	})
}

func TestPackProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := value(3).Draw(t, "value")
		if got := document.Pack(want).Unpack(); !reflect.DeepEqual(got, want) {
			t.Fatalf("packed and unpacked: %+v, want %+v", got, want)
		}
	})
}

func TestPackedThatIsNone(t *testing.T) {
	whole := document.Pack(&document.Value{Kind: document.List, Items: []*document.Value{{Kind: document.Text, Text: "a"}}})
	for n := range len(whole) {
		if v := whole[:n].Unpack(); v != nil {
			t.Errorf("the first %d of %d bytes are %+v, want nil", n, len(whole), v)
		}
	}
	if v := (whole + "x").Unpack(); v != nil {
		t.Errorf("a byte too many is %+v, want nil", v)
	}
}

// Whatever is unpacked is nothing, or a value that packs again.
func FuzzUnpack(f *testing.F) {
	f.Add(string(document.Pack(&document.Value{Kind: document.Null})))
	f.Add(string(document.Pack(&document.Value{Kind: document.Object, Fields: []document.Field{
		{Key: "a", Value: &document.Value{Kind: document.Text, Text: "b"}},
	}})))
	f.Add("\x07\x00\x00\xff\xff\xff\xff\x0f")
	f.Fuzz(func(t *testing.T, text string) {
		v := document.Packed(text).Unpack()
		if v == nil {
			return
		}
		if again := document.Pack(v).Unpack(); !reflect.DeepEqual(again, v) {
			t.Fatalf("%+v becomes %+v", v, again)
		}
	})
}
