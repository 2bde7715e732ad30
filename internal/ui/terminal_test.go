package ui

import (
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// terminal is as much of a terminal as the live display needs: it wraps,
// scrolls, and wraps again when it is resized. It fails the test for sequences
// that it does not know.
type terminal struct {
	t      *testing.T
	mu     sync.Mutex
	wide   int
	high   int
	rows   []row // scrolled away ones first
	x, y   int   // y counts from the first row ever
	hidden bool  // the cursor
	writes int
}

// row is what stands in one row; wrapped says that the next one continues it.
type row struct {
	cells   []rune
	wrapped bool
}

func newTerminal(t *testing.T, wide, high int) *terminal {
	return &terminal{t: t, wide: wide, high: high, rows: make([]row, 1)}
}

func (v *terminal) size() (int, int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.wide, v.high
}

func (v *terminal) Write(data []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.writes++
	text := string(data)
	for text != "" {
		text = v.take(text)
	}
	return len(data), nil
}

// take acts on one rune or sequence and returns the rest.
func (v *terminal) take(text string) string {
	for sequence, act := range map[string]func(){
		"\x1b[A":   func() { v.y = max(v.y-1, len(v.rows)-v.high, 0) },
		"\x1b[J":   v.eraseBelow,
		hideCursor: func() { v.hidden = true },
		showCursor: func() { v.hidden = false },
		"\r":       func() { v.x = 0 },
		"\n":       func() { v.x = 0; v.down(false) },
		unstyled:   func() {},
		"\x1b[1m":  func() {},
		"\x1b[2m":  func() {},
		"\x1b[31m": func() {},
		"\x1b[32m": func() {},
		"\x1b[33m": func() {},
		"\x1b[36m": func() {},
	} {
		if rest, found := strings.CutPrefix(text, sequence); found {
			act()
			return rest
		}
	}
	r, _ := utf8.DecodeRuneInString(text)
	if r < ' ' {
		v.t.Errorf("the terminal got %q", text[:min(len(text), 12)])
	}
	v.put(r)
	return text[len(string(r)):]
}

func (v *terminal) put(r rune) {
	cells := width(string(r))
	if v.x+cells > v.wide {
		v.x = 0
		v.down(true)
	}
	at := &v.rows[v.y]
	for len(at.cells) < v.x+cells {
		at.cells = append(at.cells, ' ')
	}
	at.cells[v.x] = r
	for i := 1; i < cells; i++ {
		at.cells[v.x+i] = 0
	}
	v.x += cells
}

func (v *terminal) down(wrapped bool) {
	v.rows[v.y].wrapped = wrapped
	v.y++
	if v.y == len(v.rows) {
		v.rows = append(v.rows, row{})
	}
}

func (v *terminal) eraseBelow() {
	v.rows = v.rows[:v.y+1]
	v.rows[v.y].cells = v.rows[v.y].cells[:min(v.x, len(v.rows[v.y].cells))]
	v.rows[v.y].wrapped = false
}

// resize wraps everything anew. The cursor must stand in an empty last row, as
// it does between frames.
func (v *terminal) resize(wide, high int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.y != len(v.rows)-1 || len(v.rows[v.y].cells) != 0 {
		v.t.Fatalf("resize with the cursor at %d,%d of %d rows", v.x, v.y, len(v.rows))
	}
	old := v.rows[:v.y]
	v.wide, v.high = wide, high
	v.rows, v.x, v.y = make([]row, 1), 0, 0
	for _, r := range old {
		for _, cell := range r.cells {
			if cell != 0 {
				v.put(cell)
			}
		}
		if !r.wrapped {
			v.x = 0
			v.down(false)
		}
	}
}

// text is everything that was ever shown and not erased.
func (v *terminal) text() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var b strings.Builder
	for i, r := range v.rows {
		line := strings.TrimRight(strings.ReplaceAll(string(r.cells), "\x00", ""), " ")
		b.WriteString(line)
		if i < len(v.rows)-1 && !r.wrapped {
			b.WriteString("\n")
		}
	}
	return b.String()
}
