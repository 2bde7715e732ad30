package ui

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Escape makes text safe to show on one line. Whatever is not printable (line
// ends, escape sequences, C1 controls, marks that reorder or hide text, bytes
// that are no UTF-8) appears as a Go escape such as \n, \x1b or \u202e.
// Printable text stays as it is, backslashes too.
func Escape(text string) string {
	if isPrintable(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[size:]
	}
	return b.String()
}

func isPrintable(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// lines splits text that may have several lines and makes each safe to show.
func lines(text string) []string {
	text = strings.ReplaceAll(strings.TrimRight(text, "\r\n"), "\r\n", "\n")
	split := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	for i := range split {
		split[i] = Escape(split[i])
	}
	return split
}

// cells counts as most terminals do, whatever the locale: tests and widths must
// not depend on it.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// width is how many cells text takes on a terminal.
func width(text string) int { return cells.StringWidth(text) }

// fit cuts text to at most limit cells, ending in an ellipsis where it was cut.
func fit(text string, limit int) string {
	if limit < 1 {
		return ""
	}
	return cells.Truncate(text, limit, "…")
}

// pad fills text with spaces up to limit cells.
func pad(text string, limit int) string { return cells.FillRight(text, limit) }

// seconds writes a duration for people: 0.4s, 12.0s, 1m05s, 2h03m.
func seconds(d time.Duration) string {
	switch {
	case d < 0:
		return "0.0s"
	case d < 59950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	whole := int(d.Round(time.Second) / time.Second)
	if whole < 3600 {
		return fmt.Sprintf("%dm%02ds", whole/60, whole%60)
	}
	return fmt.Sprintf("%dh%02dm", whole/3600, whole%3600/60)
}

// size writes a number of bytes for people, in powers of 1000.
func size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/1000, 0
	for value >= 999.95 && unit < 3 {
		value /= 1000
		unit++
	}
	return fmt.Sprintf("%.1f %cB", value, "kMGT"[unit])
}

// count writes a number with its noun: "1 image", "3 images".
func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// alternatives joins words to "a, b or c".

func alternatives(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
