package document

import (
	"encoding/binary"
	"strings"
)

// Packed is a value in a form that costs nothing until it is looked at. Its
// zero value is none.
type Packed string

// Pack keeps a value with its places.
func Pack(v *Value) Packed {
	return Packed(pack(nil, v))
}

func pack(out []byte, v *Value) []byte {
	out = append(out, byte(v.Kind))
	out = packPlace(out, v.At)
	switch v.Kind {
	case List:
		out = binary.AppendUvarint(out, uint64(len(v.Items)))
		for _, item := range v.Items {
			out = pack(out, item)
		}
	case Object:
		out = packFields(out, v.Fields)
		out = packFields(out, v.Dropped)
	default:
		out = packText(out, v.Text)
	}
	return out
}

func packFields(out []byte, fields []Field) []byte {
	out = binary.AppendUvarint(out, uint64(len(fields)))
	for _, f := range fields {
		out = packText(out, f.Key)
		out = packPlace(out, f.At)
		out = pack(out, f.Value)
	}
	return out
}

func packPlace(out []byte, at Place) []byte {
	out = binary.AppendUvarint(out, uint64(at.Line))
	return binary.AppendUvarint(out, uint64(at.Column))
}

func packText(out []byte, text string) []byte {
	out = binary.AppendUvarint(out, uint64(len(text)))
	return append(out, text...)
}

// Unpack makes the value again, a new one each time; nil if Pack did not make p.
func (p Packed) Unpack() *Value {
	u := &unpacking{in: strings.NewReader(string(p))}
	v := u.value(0)
	if u.damaged || u.in.Len() > 0 {
		return nil
	}
	return v
}

// unpacking reads what Pack wrote. What cannot be read makes it damaged.
type unpacking struct {
	in      *strings.Reader
	damaged bool
}

func (u *unpacking) value(depth int) *Value {
	kind, err := u.in.ReadByte()
	if err != nil || Kind(kind) > Object || depth > maxDepth {
		u.damaged = true
		return nil
	}
	v := &Value{Kind: Kind(kind), At: u.place()}
	switch v.Kind {
	case List:
		for n := u.length(); n > 0 && !u.damaged; n-- {
			v.Items = append(v.Items, u.value(depth+1))
		}
	case Object:
		v.Fields = u.fields(depth + 1)
		v.Dropped = u.fields(depth + 1)
	default:
		v.Text = u.text()
	}
	return v
}

func (u *unpacking) fields(depth int) []Field {
	var fields []Field
	for n := u.length(); n > 0 && !u.damaged; n-- {
		fields = append(fields, Field{Key: u.text(), At: u.place(), Value: u.value(depth)})
	}
	return fields
}

func (u *unpacking) place() Place { return Place{u.number(), u.number()} }

// length is that of something whose every part takes a byte at least.
func (u *unpacking) length() int {
	n := u.number()
	if n < 0 || n > u.in.Len() {
		u.damaged = true
		return 0
	}
	return n
}

func (u *unpacking) number() int {
	n, err := binary.ReadUvarint(u.in)
	if err != nil {
		u.damaged = true
	}
	return int(n)
}

func (u *unpacking) text() string {
	text := make([]byte, u.length())
	_, _ = u.in.Read(text) // length made sure
	return string(text)
}
