package ui

import (
	"io"
	"strings"
)

// style is how a span of a line looks.
type style string

const (
	normal style = ""
	bold   style = "\x1b[1m"
	dim    style = "\x1b[2m"
	red    style = "\x1b[31m"
	green  style = "\x1b[32m"
	yellow style = "\x1b[33m"
	cyan   style = "\x1b[36m"

	unstyled   = "\x1b[0m"
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	eraseBelow = "\r\x1b[J"
	lineUp     = "\x1b[A"
)

// span is text of one style, safe to show.
type span struct {
	style style
	text  string
}

// line is one row of a display.
type line []span

// screen owns the lowest rows of a terminal: a region that is drawn over and
// over, with finished lines scrolling away above it. It is not safe for
// concurrent use.
type screen struct {
	out    output
	size   func() (width, height int)
	color  bool
	region []int  // cells of each row of the region on the terminal
	shown  string // what the region shows, to skip frames that change nothing
	hidden bool   // the cursor
}

func newScreen(w io.Writer, size func() (width, height int), color bool) *screen {
	return &screen{out: output{w: w}, size: size, color: color}
}

// draw prints scroll for good and puts the rows of region below it. Rows are
// cut to the terminal's width, and the region to its height.
func (s *screen) draw(scroll []line, region func(width, height int) []line) {
	width, height := s.size()
	var frame strings.Builder
	var rows []int
	for _, row := range region(width, height-1) {
		text, cells := s.paint(row, width-1)
		frame.WriteString(text + "\n")
		rows = append(rows, cells)
	}
	if len(scroll) == 0 && frame.String() == s.shown {
		return
	}
	var b strings.Builder
	if !s.hidden {
		b.WriteString(hideCursor)
	}
	b.WriteString(s.erase(width))
	for _, row := range scroll {
		text, _ := s.paint(row, 0)
		b.WriteString(text + "\n")
	}
	b.WriteString(frame.String())
	s.out.write(b.String())
	s.region, s.shown, s.hidden = rows, frame.String(), true
}

// end erases the region, prints scroll for good and gives the cursor back.
func (s *screen) end(scroll []line) {
	width, _ := s.size()
	b := s.erase(width)
	for _, row := range scroll {
		text, _ := s.paint(row, 0)
		b += text + "\n"
	}
	if s.hidden {
		b += showCursor
	}
	s.out.write(b)
	s.region, s.shown, s.hidden = nil, "", false
}

// erase goes back to the region's first row and clears all below. A terminal
// that became narrower has wrapped the rows that do not fit any more.
func (s *screen) erase(width int) string {
	if len(s.region) == 0 {
		return ""
	}
	up := 0
	for _, cells := range s.region {
		up += max(1, (cells+width-1)/width)
	}
	return strings.Repeat(lineUp, up) + eraseBelow
}

// paint makes the text of a row, at most limit cells wide (0: any width), and
// tells how many cells it takes.
func (s *screen) paint(row line, limit int) (text string, cells int) {
	var b strings.Builder
	tooLong := limit > 0 && row.width() > limit
	for _, part := range row {
		shown, last := part.text, false
		if left := limit - cells; tooLong && width(shown) >= left {
			shown, last = fit(shown+" ", left), true // the space makes fit cut what just fills the row
		}
		cells += width(shown)
		if s.color && part.style != normal && shown != "" {
			shown = string(part.style) + shown + unstyled
		}
		b.WriteString(shown)
		if last {
			break
		}
	}
	return b.String(), cells
}

func (l line) width() int {
	cells := 0
	for _, part := range l {
		cells += width(part.text)
	}
	return cells
}
