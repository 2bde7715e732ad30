package workspace

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"toa.io/toa/document"
)

// codec writes values one after the other, or reads them back in the same
// order: one list of fields serves both. Numbers are varints, texts and lists
// are preceded by their length. What cannot be read makes it damaged, and all
// that follows empty.
type codec struct {
	reading bool
	out     []byte
	in      string // texts that are read share it
	damaged bool
}

// encode starts with a schema, so that a memo of another version is none.
func encode(schema string, visit func(*codec)) []byte {
	c := &codec{}
	c.text(&schema)
	visit(c)
	return c.out
}

// decode tells whether data is all of what encode wrote for the schema.
func decode(schema string, data []byte, visit func(*codec)) bool {
	c := &codec{reading: true, in: string(data)}
	var found string
	if c.text(&found); found != schema {
		return false
	}
	visit(c)
	return !c.damaged && c.in == ""
}

func (c *codec) uvarint(n uint64) uint64 {
	if !c.reading {
		c.out = binary.AppendUvarint(c.out, n)
		return n
	}
	var value uint64
	for shift := 0; shift < 64 && len(c.in) > 0; shift += 7 {
		b := c.in[0]
		c.in = c.in[1:]
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
	c.damaged = true
	c.in = ""
	return 0
}

func (c *codec) text(s *string) {
	n := c.uvarint(uint64(len(*s)))
	if !c.reading {
		c.out = append(c.out, *s...)
		return
	}
	if n > uint64(len(c.in)) {
		c.damaged = true
		c.in = ""
		n = 0
	}
	*s, c.in = c.in[:n], c.in[n:]
}

func (c *codec) integer(n *int) { *n = int(c.uvarint(uint64(*n))) }

func (c *codec) duration(d *time.Duration) { *d = time.Duration(c.uvarint(uint64(*d))) }

func (c *codec) flag(b *bool) {
	var n uint64
	if *b {
		n = 1
	}
	*b = c.uvarint(n) == 1
}

func (c *codec) json(raw *json.RawMessage) {
	text := string(*raw)
	c.text(&text)
	if c.reading {
		*raw = json.RawMessage(text)
	}
}

func (c *codec) place(p *document.Place) {
	c.integer(&p.Line)
	c.integer(&p.Column)
}

// position is that in a file which is known otherwise.
func (c *codec) position(p *Position) {
	c.integer(&p.Line)
	c.integer(&p.Column)
}

// value keeps a value packed.
func (c *codec) value(v **document.Value) {
	var text string
	if !c.reading {
		text = string(document.Pack(*v))
	}
	c.text(&text)
	if c.reading {
		*v = document.Packed(text).Unpack()
		c.damaged = c.damaged || *v == nil
	}
}

// optional visits what a pointer leads to, if anywhere.
func optional[T any](c *codec, target **T, visit func(*codec, *T)) {
	stated := *target != nil
	c.flag(&stated)
	if !stated {
		*target = nil
		return
	}
	if c.reading {
		*target = new(T)
	}
	visit(c, *target)
}

func (c *codec) texts(list *[]string) { items(c, list, (*codec).text) }

// items visits a list, keeping nil apart from empty. Every item takes a byte
// at least, which bounds what a damaged length can ask for.
func items[T any](c *codec, list *[]T, visit func(*codec, *T)) {
	length := uint64(0)
	if *list != nil {
		length = uint64(len(*list)) + 1
	}
	length = c.uvarint(length)
	if c.reading {
		*list = nil
		if length == 0 {
			return
		}
		if length-1 > uint64(len(c.in)) {
			c.damaged = true
			c.in = ""
			return
		}
		*list = make([]T, length-1)
	}
	for i := range *list {
		visit(c, &(*list)[i])
	}
}
