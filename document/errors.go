package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a file. Lines and columns count from 1; zero means
// the file as a whole.
type Position struct {
	File   string // as below the workspace root, slashes
	Line   int
	Column int
}

func (p Position) String() string {
	if p.Line == 0 {
		return Printable(p.File)
	}
	return fmt.Sprintf("%s:%d:%d", Printable(p.File), p.Line, p.Column)
}

// Error is one mistake in a file.
type Error struct {
	Position
	// Msg says what is wrong and what was expected.
	Msg string
	// Fix says how to mend it, or is empty.
	Fix string
}

func (e *Error) Error() string { return e.Position.String() + ": " + e.Msg }

// Hint is how to mend it.
func (e *Error) Hint() string { return e.Fix }

// Mistake is true: it is found before anything is touched.
func (*Error) Mistake() bool { return true }

// Errors are all mistakes of a workspace, by file and line.
type Errors struct {
	List []*Error
	// Notices are what was read besides.
	Notices []Notice
}

func (e *Errors) Error() string {
	lines := make([]string, len(e.List))
	for i, one := range e.List {
		lines[i] = one.Error()
		if one.Fix != "" {
			lines[i] += "\n    " + one.Fix
		}
	}
	return strings.Join(lines, "\n")
}

// Mistake is true: it is found before anything is touched.
func (*Errors) Mistake() bool { return true }

// Sort puts the mistakes in the order of files, lines and columns.
func (e *Errors) Sort() {
	slices.SortStableFunc(e.List, func(a, b *Error) int { return a.Position.Compare(b.Position) })
}

// Compare orders positions by file, line and column.
func (p Position) Compare(other Position) int {
	return cmp.Or(strings.Compare(p.File, other.File), p.Line-other.Line, p.Column-other.Column)
}

// Notice is something that a person should know and that stops nothing.
type Notice struct {
	Text      string
	Positions []Position
}
