package document

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"toa.io/toa/internal/lazyregexp"
)

// JSON is the value as JSON, keys in the order of the file.
func (v *Value) JSON() json.RawMessage {
	var out bytes.Buffer
	writeJSON(&out, v)
	return out.Bytes()
}

func writeJSON(out *bytes.Buffer, v *Value) {
	switch v.Kind {
	case Object:
		out.WriteByte('{')
		for i, f := range v.Fields {
			if i > 0 {
				out.WriteByte(',')
			}
			writeText(out, f.Key)
			out.WriteByte(':')
			writeJSON(out, f.Value)
		}
		out.WriteByte('}')
	case List:
		out.WriteByte('[')
		for i, item := range v.Items {
			if i > 0 {
				out.WriteByte(',')
			}
			writeJSON(out, item)
		}
		out.WriteByte(']')
	case Boolean:
		out.WriteString(strings.ToLower(v.Text))
	case Integer, Float:
		writeNumber(out, v.Text)
	case Text:
		writeText(out, v.Text)
	default:
		out.WriteString("null")
	}
}

// writeText does not escape HTML: the map is read by people too.
func writeText(out *bytes.Buffer, text string) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)    // neither a string nor a buffer can fail
	out.Truncate(out.Len() - 1) // the line break
}

var jsonNumber = lazyregexp.New(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$`)

// writeNumber keeps digits as they are written. What JSON would write in
// another way is translated, and what is a number in some YAML only (010,
// 1_000, .inf) stays text.
func writeNumber(out *bytes.Buffer, text string) {
	unsigned := strings.TrimPrefix(text, "+")
	padded := strings.Replace(unsigned, "-.", "-0.", 1)
	if strings.HasPrefix(padded, ".") {
		padded = "0" + padded
	}
	padded = strings.TrimSuffix(padded, ".")
	switch {
	case jsonNumber.MatchString(text):
		out.WriteString(text)
	case jsonNumber.MatchString(padded):
		out.WriteString(padded)
	case strings.HasPrefix(text, "0x"), strings.HasPrefix(text, "0o"):
		n, err := strconv.ParseUint(text, 0, 64)
		if err != nil || strings.Contains(text, "_") {
			writeText(out, text)
			return
		}
		out.WriteString(strconv.FormatUint(n, 10))
	default:
		writeText(out, text)
	}
}
