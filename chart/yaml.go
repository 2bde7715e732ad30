package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// What can be written: strings, ints, booleans, text, mappings and lists of
// these. Keys stand as they are: our own words plain, those of others quoted.
// Every string is quoted, so that a reader of YAML 1.1 or 1.2 can take none for
// a number, a date or a boolean.
type (
	mapping []entry
	entry   struct {
		key   string
		value any
	}
	list []any
	// row and brief are a list and a mapping that stand on one line.
	row   []string
	brief mapping
	// text is a value of a mapping that is written as it stands, line by line.
	// It neither starts nor ends with white space and holds nothing that must be
	// escaped.
	text string
	// explained is a value of a document under a comment of its own.
	explained struct {
		comment string // lines
		value   any
	}
)

// stated leaves out the entries that say nothing.
func (m mapping) stated() mapping {
	return slices.DeleteFunc(m, func(e entry) bool {
		switch v := e.value.(type) {
		case mapping:
			return len(v) == 0
		case list:
			return len(v) == 0
		case row:
			return len(v) == 0
		default:
			return v == "" || v == 0 || v == false
		}
	})
}

// encode writes a document.
func (m mapping) encode() []byte {
	var b bytes.Buffer
	m.write(&b, "", "")
	return b.Bytes()
}

// write begins the first line with first and the others with indent.
func (m mapping) write(b *bytes.Buffer, first, indent string) {
	for i, e := range m {
		if i > 0 {
			first = indent
		}
		if x, ok := e.value.(explained); ok {
			e.value = x.value
			comment(b, x.comment)
		}
		b.WriteString(first + e.key + ":")
		e.write(b, indent)
	}
}

// comment sets what follows apart.
func comment(b *bytes.Buffer, text string) {
	b.WriteString("\n")
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString("# " + line + "\n")
	}
}

// write ends the line of the key, and writes lines of its own where one is not
// enough.
func (e entry) write(b *bytes.Buffer, indent string) {
	switch v := e.value.(type) {
	case mapping:
		if len(v) == 0 {
			b.WriteString(" {}\n")
			return
		}
		b.WriteString("\n")
		v.write(b, indent+"  ", indent+"  ")
	case list:
		if len(v) == 0 {
			b.WriteString(" []\n")
			return
		}
		b.WriteString("\n")
		v.write(b, indent+"  ")
	case text:
		b.WriteString(" |-\n")
		for line := range strings.SplitSeq(string(v), "\n") {
			b.WriteString(indent + "  " + line + "\n")
		}
	default:
		b.WriteString(" " + scalar(v) + "\n")
	}
}

func (l list) write(b *bytes.Buffer, indent string) {
	for _, item := range l {
		if m, ok := item.(mapping); ok {
			m.write(b, indent+"- ", indent+"  ")
		} else {
			b.WriteString(indent + "- " + scalar(item) + "\n")
		}
	}
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return word(v)
	case row:
		return v.String()
	case brief:
		return v.String()
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	default:
		panic(fmt.Sprintf("chart: %T is no scalar", v)) // a mistake in this package
	}
}

func (r row) String() string {
	words := make([]string, len(r))
	for i, w := range r {
		words[i] = word(w)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func (b brief) String() string {
	fields := make([]string, len(b))
	for i, e := range b {
		fields[i] = e.key + ": " + scalar(e.value)
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// word writes a string of YAML. What holds double quotes stands in single ones
// if it can: many variables are JSON, and people have to read them.
func word(s string) string {
	if !strings.Contains(s, `"`) || strings.IndexFunc(s, notPlain) >= 0 {
		return quote(s)
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// notPlain tells what single quotes do not keep as it is, or what nobody would see.
func notPlain(r rune) bool { return !unicode.IsPrint(r) || unprintable(r) }

// quote writes a string of JSON, which is one of YAML too.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can be encoded, a Buffer can be written
	return escape(strings.TrimSuffix(b.String(), "\n"))
}

// escape replaces what JSON lets stand inside a string, but readers of YAML
// refuse or take for the end of a line.
func escape(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool {
	switch r {
	case '\u2028', '\u2029', '\ufeff', '\ufffe', '\uffff':
		return true
	}
	return r >= 0x7f && r <= 0x9f
}
