package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"toa.io/toa/internal/lazyregexp"
)

// searchBudget is how many bytes may be parsed to find the line of a syntax
// error: a second's work at worst.
const searchBudget = 16 << 20

// ByteOrderMark may start a file and says nothing.
var ByteOrderMark = []byte("\xef\xbb\xbf")

// Parse reads the one YAML document of a file, or reports why there is none.
func (r *Reader) Parse(data []byte) *Value {
	data = bytes.TrimPrefix(data, ByteOrderMark)
	if at, what := unreadable(data); what != "" {
		r.Fail(at, "", "%s", what)
		return nil
	}
	documents := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	switch err := next(documents, &document); {
	case errors.Is(err, io.EOF):
		r.Fail(Place{1, 1}, "", "the file is empty, expected an object")
		return nil
	case err != nil:
		r.syntax(data, err)
		return nil
	}
	if err := next(documents, &second); !errors.Is(err, io.EOF) {
		r.Fail(secondDocument(data, document.Content[0].Line), "remove the `---` line or what follows it",
			"the file holds several documents, expected one")
		return nil
	}
	return r.root(document.Content[0])
}

// secondDocument is the first line below the root's that begins a document.
func secondDocument(data []byte, root int) Place {
	for i, line := range bytes.Split(data, []byte("\n")) {
		if i >= root && bytes.HasPrefix(line, []byte("---")) {
			return Place{i + 1, 1}
		}
	}
	return Place{root, 1}
}

func (r *Reader) root(node *yaml.Node) *Value {
	c := &converter{Reader: r, open: map[*yaml.Node]bool{}}
	root := c.value(node, Place{node.Line, node.Column})
	switch {
	case c.stopped || root.Kind == Broken:
		return nil
	case root.Kind == Null:
		r.Fail(Place{1, 1}, "", "the file is empty, expected an object")
		return nil
	case root.Kind != Object:
		r.Fail(root.At, "", "expected an object, found %s", root.Describe())
		return nil
	}
	return root
}

// next decodes a document. The parser panics on some inputs that are no YAML.
func next(documents *yaml.Decoder, node *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return documents.Decode(node)
}

// unreadable finds the first byte that is no text.
func unreadable(data []byte) (at Place, what string) {
	at = Place{1, 1}
	for i := 0; i < len(data); {
		char, size := rune(data[i]), 1
		if char >= utf8.RuneSelf {
			char, size = utf8.DecodeRune(data[i:])
		}
		switch {
		case char == utf8.RuneError && size == 1:
			return at, fmt.Sprintf("byte 0x%02x is not UTF-8, expected UTF-8 text", data[i])
		case char == '\n':
			at = Place{at.Line, 0}
			at.Line++
		case isControl(char) && char != '\t' && char != '\r':
			return at, fmt.Sprintf("control character %U, expected text", char)
		}
		at.Column++
		i += size
	}
	return at, ""
}

// isControl covers C0, DEL and C1 but for NEL, which YAML takes for a line break.
func isControl(char rune) bool {
	return char < 0x20 || char == 0x7f || (char > 0x7f && char < 0xa0 && char != 0x85)
}

var parserLine = lazyregexp.New(`^(?:yaml: )?(?:line (\d+): )?(.*)$`)

// syntax reports what the parser says, at the first line that makes it fail:
// its own line is that of the block around, or off by one.
func (r *Reader) syntax(data []byte, err error) {
	said := parserLine.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	lines := bytes.SplitAfter(data, []byte("\n"))
	search := &search{lines: lines, budget: searchBudget}
	line := search.failing()
	if search.budget < 0 {
		around, _ := strconv.Atoi(said[1])
		line = min(max(around, 1), len(lines))
	}
	text := lines[line-1]
	indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
	if tab := bytes.IndexByte(indent, '\t'); tab >= 0 {
		r.Fail(Place{line, tab + 1}, "indent with spaces", "a tab indents the line, expected spaces")
		return
	}
	r.Fail(Place{line, len(indent) + 1}, "", "not YAML: %s", said[2])
}

// search looks for the line that makes a file fail to parse.
type search struct {
	lines  [][]byte
	budget int // bytes that may still be parsed; negative once it did not do
}

// failing is the line after the longest prefix that can be parsed, found by
// halving. A prefix that ends inside a bracket or a quote fails as well, so
// some lines beyond are tried before the answer stands.
func (s *search) failing() int {
	const beyond = 40
	good, bad := 0, len(s.lines)
	for {
		for bad-good > 1 {
			if middle := (good + bad) / 2; s.parses(middle) {
				good = middle
			} else {
				bad = middle
			}
		}
		further := 0
		for n := min(good+beyond, len(s.lines)-1); n > bad && further == 0; n-- {
			if s.parses(n) {
				further = n
			}
		}
		if further == 0 {
			return good + 1
		}
		good, bad = further, len(s.lines)
	}
}

// parses tells whether the first n lines are YAML.
func (s *search) parses(n int) bool {
	text := bytes.Join(s.lines[:n], nil)
	s.budget -= len(text)
	if s.budget < 0 {
		return false
	}
	var node yaml.Node
	err := next(yaml.NewDecoder(bytes.NewReader(text)), &node)
	return err == nil || errors.Is(err, io.EOF)
}
