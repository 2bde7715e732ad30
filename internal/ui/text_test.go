package ui

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestEscape(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", `store.orders \ "x"`, `store.orders \ "x"`},
		{"letters of the world", "décembre 漢字 🚀", "décembre 漢字 🚀"},
		{"line end", "a\nb\r", `a\nb\r`},
		{"tab", "a\tb", `a\tb`},
		{"color", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"title of the window", "\x1b]0;x\a", `\x1b]0;x\a`},
		{"C1 as a rune", "\u009b31m", `\u009b31m`},
		{"C1 as a byte", "\x9b31m", `\x9b31m`},
		{"delete", "a\x7f", `a\x7f`},
		{"reordering", "exe.\u202egnp", `exe.\u202egnp`},
		{"isolate", "\u2066x\u2069", `\u2066x\u2069`},
		{"hidden", "a\u200bb\ufeff", `a\u200bb\ufeff`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"tags", "a\U000e0041", `a\U000e0041`},
		{"no UTF-8", "a\xffb", `a\xffb`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Escape(tt.in); got != tt.want {
				t.Errorf("Escape(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("\x1b[2J\u202e\xff漢")
	f.Fuzz(func(t *testing.T, text string) {
		safe := Escape(text)
		if !utf8.ValidString(safe) || strings.ContainsFunc(safe, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("Escape(%q) = %q is not printable", text, safe)
		}
		if again := Escape(safe); again != safe {
			t.Errorf("Escape(%q) = %q, and of that %q", text, safe, again)
		}
		for _, limit := range []int{0, 1, 7} {
			if cut := fit(safe, limit); width(cut) > limit {
				t.Errorf("fit(%q, %d) = %q takes %d cells", safe, limit, cut, width(cut))
			}
		}
	})
}

func TestLines(t *testing.T) {
	got := strings.Join(lines("one\r\n\ttwo\n\x1b[1mthree\n\n"), "|")
	if want := `one|    two|\x1b[1mthree`; got != want {
		t.Errorf("lines = %q, want %q", got, want)
	}
}

func TestSeconds(t *testing.T) {
	for in, want := range map[time.Duration]string{
		-time.Second:                     "0.0s",
		0:                                "0.0s",
		449 * time.Millisecond:           "0.4s",
		59940 * time.Millisecond:         "59.9s",
		59960 * time.Millisecond:         "1m00s",
		65 * time.Second:                 "1m05s",
		2*time.Hour + 3*time.Minute:      "2h03m",
		time.Hour - 400*time.Millisecond: "1h00m",
	} {
		if got := seconds(in); got != want {
			t.Errorf("seconds(%v) = %q, want %q", in, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for in, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 3_412_000: "3.4 MB", 999_960: "1.0 MB", 5e12: "5.0 TB", 5e15: "5000.0 TB",
	} {
		if got := size(in); got != want {
			t.Errorf("size(%d) = %q, want %q", in, got, want)
		}
	}
}

// A painted row never takes more cells than there are, and says how many.
func TestPaint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.StringOf(rapid.RuneFrom([]rune("ab漢🚀é ")))).Draw(t, "parts")
		limit := rapid.IntRange(1, 30).Draw(t, "limit")
		var row line
		for _, part := range parts {
			row = append(row, span{normal, part})
		}
		text, cells := newScreen(nil, nil, false).paint(row, limit)
		whole := strings.Join(parts, "")
		if cells > limit || width(text) > limit {
			t.Errorf("paint(%q, %d) = %q takes %d cells, says %d", whole, limit, text, width(text), cells)
		}
		if width(whole) <= limit && text != whole {
			t.Errorf("paint(%q, %d) = %q, want it whole", whole, limit, text)
		}
		if width(whole) > limit && strings.Count(text, "…") != 1 {
			t.Errorf("paint(%q, %d) = %q, want one ellipsis", whole, limit, text)
		}
	})
}
