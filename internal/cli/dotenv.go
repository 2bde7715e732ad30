package cli

import (
	"fmt"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/internal/lazyregexp"
)

// A .env file holds NAME=value lines. Its readers agree on little more than
// this: quotes of all three kinds may surround a value, single quotes and
// backticks leave it as it is, double quotes know \n and (but for Node's own
// reader) \r, and without quotes it ends before a # or with the line.

// entry is one line of a .env file.
type entry struct{ name, value string }

var plainValue = lazyregexp.New(`^[A-Za-z0-9_./:@,+%=-]*$`)

// encodeEnv writes entries so that readers get the very text back, or returns
// an *unwritableError.
func encodeEnv(entries []entry) ([]byte, error) {
	var out strings.Builder
	for _, e := range entries {
		value, ok := quoteEnv(e.value)
		if !ok {
			return nil, &unwritableError{e.name}
		}
		out.WriteString(e.name + "=" + value + "\n")
	}
	return []byte(out.String()), nil
}

// quoteEnv takes the first form that keeps the value.
func quoteEnv(value string) (text string, ok bool) {
	switch {
	case plainValue.MatchString(value):
		return value, true
	case literal(value, "'"):
		return "'" + value + "'", true
	case literal(value, "`"):
		return "`" + value + "`", true
	case !strings.ContainsAny(value, `"\`):
		return `"` + strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(value) + `"`, true
	}
	return value, bare(value)
}

// literal tells whether a value may stand in quotes that leave it as it is.
// Readers take \' for no end of it, and some a carriage return for a line feed.
func literal(value, quote string) bool {
	return !strings.Contains(value, quote) && !strings.Contains(value, "\r") && !strings.HasSuffix(value, `\`)
}

// bare tells whether a value may stand without quotes.
func bare(value string) bool {
	const byteOrderMark = "\ufeff" // white space to some
	return !strings.ContainsAny(value, "#\n\r"+byteOrderMark) && !strings.ContainsAny(value[:1], quotes) &&
		strings.TrimSpace(value) == value
}

const quotes = "'\"`"

// unwritableError is a value that no form of a .env file can hold.
type unwritableError struct{ name string }

func (e *unwritableError) Error() string {
	return e.name + ": expected a value that a .env file can hold, found one with quotes of all kinds beside # or line ends"
}

// Hint is how to mend it.
func (e *unwritableError) Hint() string { return "leave one kind of quotes out of the value" }

// parseEnv reads what is stated in a .env file; the last line of a name counts,
// as it does for those who read the file. A mistake comes as *document.Error,
// which does not show what it found: that may be a secret.
func parseEnv(file, text string) (map[string]string, error) {
	p := &envParser{file: file, text: strings.ReplaceAll(text, "\r\n", "\n"), values: map[string]string{}}
	for p.at < len(p.text) {
		if err := p.line(); err != nil {
			return nil, err
		}
	}
	return p.values, nil
}

type envParser struct {
	file, text string
	at         int
	values     map[string]string
}

var assignment = lazyregexp.New(`^[ \t]*(?:export[ \t]+)?([A-Za-z0-9_.-]+)[ \t]*=[ \t]*`)

func (p *envParser) line() error {
	rest := p.text[p.at:]
	line, _, _ := strings.Cut(rest, "\n")
	if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' {
		p.at += min(len(line)+1, len(rest))
		return nil
	}
	found := assignment.FindStringSubmatch(line)
	if found == nil {
		return p.fail("expected NAME=value or a comment")
	}
	p.at += len(found[0])
	value, err := p.value()
	p.values[found[1]] = value
	return err
}

// value reads up to the end of the line that the value ends in.
func (p *envParser) value() (string, error) {
	rest := p.text[p.at:]
	if rest != "" && strings.ContainsAny(rest[:1], quotes) {
		return p.quoted(rest[:1], rest[1:])
	}
	line, _, _ := strings.Cut(rest, "\n")
	p.at += min(len(line)+1, len(rest))
	value, _, _ := strings.Cut(line, "#")
	return strings.TrimSpace(value), nil
}

func (p *envParser) quoted(quote, rest string) (string, error) {
	end := closing(quote, rest)
	if end < 0 {
		return "", p.fail("expected the quote to be closed")
	}
	tail, _, more := strings.Cut(rest[end+1:], "\n")
	if after := strings.TrimSpace(tail); after != "" && after[0] != '#' {
		p.at += end + len("''")
		return "", p.fail("expected the line to end after the closing quote")
	}
	p.at += end + len("''") + len(tail)
	if more {
		p.at++
	}
	value := rest[:end]
	if quote == `"` {
		value = strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(value)
	}
	return value, nil
}

// closing finds the quote that ends a value: one behind a backslash does not.
func closing(quote, rest string) int {
	for from := 0; ; {
		i := strings.Index(rest[from:], quote)
		if i < 0 {
			return -1
		}
		if i += from; i == 0 || rest[i-1] != '\\' {
			return i
		}
		from = i + 1
	}
}

func (p *envParser) fail(what string) error {
	before := p.text[:p.at]
	start := strings.LastIndex(before, "\n") + 1
	return &document.Error{
		Position: document.Position{File: p.file, Line: strings.Count(before, "\n") + 1, Column: len(before) - start + 1},
		Msg:      what,
		Fix:      fmt.Sprintf("mend the line, or delete %s to have it written anew", document.Printable(p.file)),
	}
}
