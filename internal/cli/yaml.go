package cli

import (
	"slices"
	"strconv"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/internal/lazyregexp"
)

// encodeYAML writes an object for people to read. Readers of YAML 1.1 and 1.2
// take it for the same: whatever might be something else than text is quoted.
func encodeYAML(v *document.Value) []byte {
	var out strings.Builder
	writeFields(&out, v, "", "")
	return []byte(out.String())
}

// writeFields begins the first line with first and the others with indent.
func writeFields(out *strings.Builder, v *document.Value, first, indent string) {
	for _, f := range v.Fields {
		out.WriteString(first + quoteYAML(f.Key) + ":")
		writeContent(out, f.Value, indent)
		first = indent
	}
}

// writeContent ends the line of a key, and writes lines of its own where one is
// not enough.
func writeContent(out *strings.Builder, v *document.Value, indent string) {
	switch {
	case len(v.Fields) > 0:
		out.WriteString("\n")
		writeFields(out, v, indent+"  ", indent+"  ")
	case len(v.Items) > 0:
		out.WriteString("\n")
		writeItems(out, v, indent+"  ", indent+"  ")
	default:
		out.WriteString(" " + scalarYAML(v) + "\n")
	}
}

func writeItems(out *strings.Builder, v *document.Value, first, indent string) {
	for _, item := range v.Items {
		out.WriteString(first + "-")
		switch {
		case len(item.Fields) > 0:
			writeFields(out, item, " ", indent+"  ")
		case len(item.Items) > 0:
			writeItems(out, item, " ", indent+"  ")
		default:
			out.WriteString(" " + scalarYAML(item) + "\n")
		}
		first = indent
	}
}

// scalarYAML is what fits on a line: empty lists and objects too.
func scalarYAML(v *document.Value) string {
	if v.Kind == document.Text {
		return quoteYAML(v.Text)
	}
	return string(v.JSON())
}

var plainYAML = lazyregexp.New(`^(?:\./)?[A-Za-z_][A-Za-z0-9_./-]*$`)

// wordsYAML are no text to some readers, in any case.
var wordsYAML = []string{"y", "yes", "n", "no", "on", "off", "true", "false", "null"}

// quoteYAML quotes what is not plainly text. Escapes of Go are ones of YAML.
func quoteYAML(s string) string {
	if plainYAML.MatchString(s) && !slices.Contains(wordsYAML, strings.ToLower(s)) {
		return s
	}
	return strconv.Quote(s)
}
