package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// What can be written: strings, ints, text, mappings and lists of these. Keys
// are our own words and stand plain; every string is quoted, so that a reader
// of YAML 1.1 or 1.2 can take none for a number, a date or a boolean.
type (
	mapping []entry
	entry   struct {
		key   string
		value any
	}
	list []any
	// text is a value of a mapping that is written as it stands, line by line.
	// It neither starts nor ends with white space and holds nothing that must be
	// escaped.
	text string
)

// encode writes a document.
func (m mapping) encode() []byte {
	return []byte(strings.Join(m.lines(), "\n") + "\n")
}

func (m mapping) lines() []string {
	var all []string
	for _, e := range m {
		all = append(all, e.lines()...)
	}
	return all
}

func (e entry) lines() []string {
	switch v := e.value.(type) {
	case mapping:
		return append([]string{e.key + ":"}, indent(v.lines())...)
	case list:
		if len(v) == 0 {
			return []string{e.key + ": []"}
		}
		return append([]string{e.key + ":"}, indent(v.lines())...)
	case text:
		return append([]string{e.key + ": |-"}, indent(strings.Split(string(v), "\n"))...)
	default:
		return []string{e.key + ": " + scalar(v)}
	}
}

func (l list) lines() []string {
	var all []string
	for _, item := range l {
		if m, ok := item.(mapping); ok {
			lines := indent(m.lines())
			lines[0] = "- " + strings.TrimPrefix(lines[0], "  ")
			all = append(all, lines...)
			continue
		}
		all = append(all, "- "+scalar(item))
	}
	return all
}

func indent(lines []string) []string {
	for i := range lines {
		lines[i] = "  " + lines[i]
	}
	return lines
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case int:
		return strconv.Itoa(v)
	default:
		panic(fmt.Sprintf("chart: %T is no scalar", v)) // a mistake in this package
	}
}

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
