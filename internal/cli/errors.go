package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"toa.io/toa/internal/ui"
	"toa.io/toa/workspace"
)

// configurationError is a setting that was found wrong before anything was touched.
type configurationError struct{ err error }

func (e *configurationError) Error() string { return e.err.Error() }
func (e *configurationError) Unwrap() error { return e.err }

// Mistake is true: it is found before anything is touched.
func (*configurationError) Mistake() bool { return true }

// isMistake tells mistakes of the user's files, settings and command line, found
// before anything was touched, from work that failed. Errors say it themselves:
// they have a method Mistake, as those that can be mended have a Hint.
func isMistake(err error) bool {
	var mistaken interface{ Mistake() bool }
	return errors.As(err, &mistaken) && mistaken.Mistake()
}

// writeError prints an error and how to mend it. Mistakes in files stand a line
// each, as compilers print them, so that editors find the place.
func writeError(w io.Writer, err error) {
	var many *workspace.Errors
	if errors.As(err, &many) {
		for _, notice := range many.Notices {
			writeNotice(w, notice)
		}
		for line := range strings.Lines(many.Error()) {
			fmt.Fprintln(w, ui.Escape(strings.TrimSuffix(line, "\n")))
		}
		fmt.Fprintf(w, "toa: %s\n", count(len(many.List), "mistake"))
		return
	}
	for _, one := range parts(err) {
		fmt.Fprintf(w, "toa: %s\n", ui.Escape(one.Error()))
		if hint := ui.HintOf(one); hint != "" {
			fmt.Fprintf(w, "     %s\n", ui.Escape(hint))
		}
	}
}

// parts are the errors that were joined to one, each with its own hint.
func parts(err error) []error {
	switch joined := err.(type) { //nolint:errorlint // how it is made matters, not what is in it
	case *configurationError:
		return parts(joined.err)
	case interface{ Unwrap() []error }:
		var all []error
		for _, one := range joined.Unwrap() {
			all = append(all, parts(one)...)
		}
		return all
	}
	return []error{err}
}

func writeNotice(w io.Writer, n workspace.Notice) {
	fmt.Fprintf(w, "toa: %s\n", ui.Escape(noticeText(n)))
}

// noticeText is a notice with all its places.
func noticeText(n workspace.Notice) string {
	places := make([]string, len(n.Positions))
	for i, p := range n.Positions {
		places[i] = p.String()
	}
	text := n.Text
	if len(places) > 0 {
		text += " (" + strings.Join(places, ", ") + ")"
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
