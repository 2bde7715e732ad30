package extensions

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"toa.io/toa/document"
)

// epoch names a schema: equal schemas have equal ones, whatever the order of
// their keys. The runtime computes the same, so numbers are written as
// JavaScript writes them.
func epoch(schema *document.Value) string {
	var out bytes.Buffer
	canonical(&out, schema)
	sum := sha256.Sum256(out.Bytes())
	return hex.EncodeToString(sum[:])
}

func canonical(out *bytes.Buffer, v *document.Value) {
	switch v.Kind {
	case document.Object:
		fields := slices.Clone(v.Fields)
		slices.SortFunc(fields, func(a, b document.Field) int { return strings.Compare(a.Key, b.Key) })
		separated(out, '{', '}', len(fields), func(i int) {
			out.Write(text(fields[i].Key).JSON())
			out.WriteByte(':')
			canonical(out, fields[i].Value)
		})
	case document.List:
		separated(out, '[', ']', len(v.Items), func(i int) { canonical(out, v.Items[i]) })
	case document.Integer, document.Float:
		out.WriteString(scripted(v.JSON()))
	default:
		out.Write(v.JSON())
	}
}

func separated(out *bytes.Buffer, first, last byte, n int, write func(int)) {
	out.WriteByte(first)
	for i := range n {
		if i > 0 {
			out.WriteByte(',')
		}
		write(i)
	}
	out.WriteByte(last)
}

// scripted writes a number of JSON as JavaScript does: 1.0 is 1, and exponents
// begin at 1e21 and 1e-7.
func scripted(number json.RawMessage) string {
	n, err := strconv.ParseFloat(string(number), 64)
	if err != nil {
		return string(number) // text, as YAML 1.1 numbers become
	}
	if size := math.Abs(n); size == 0 || size >= 1e-6 && size < 1e21 {
		return strconv.FormatFloat(n+0, 'f', -1, 64)
	}
	short := strconv.FormatFloat(n, 'e', -1, 64)
	return strings.NewReplacer("e+0", "e+", "e-0", "e-").Replace(short)
}
