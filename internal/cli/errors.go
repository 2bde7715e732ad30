package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/extensions"
	"toa.io/toa/extensions/bridge"
	"toa.io/toa/graph"
	"toa.io/toa/internal/sdk"
	"toa.io/toa/internal/sources"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
	"toa.io/toa/workspace"
)

// configurationError is a setting that was found wrong before anything was touched.
type configurationError struct{ err error }

func (e *configurationError) Error() string { return e.err.Error() }
func (e *configurationError) Unwrap() error { return e.err }

// isConfiguration tells mistakes of the user's files and command line, found
// before anything was touched, from work that failed.
func isConfiguration(err error) bool {
	return is[*usageError](err) || is[*configurationError](err) ||
		is[*workspace.Errors](err) || is[*workspace.Error](err) || is[*workspace.NotFoundError](err) ||
		is[*cache.FileError](err) || is[*orchestrator.UnpinnedError](err) || is[*orchestrator.NoImageError](err) ||
		is[*graph.CycleError](err) || is[*graph.UnknownError](err) || is[*graph.DuplicateError](err) ||
		is[*chart.NoVersionError](err) || is[*chart.VersionError](err) || is[*chart.NameError](err) || is[*chart.PortError](err) || is[*chart.CollisionError](err) || is[*chart.AnnotationsError](err) ||
		is[*extensions.UnknownPackageError](err) || is[*extensions.PortConflictError](err) || is[*bridge.MissingNodeError](err) || is[*workspace.NotInstalledError](err) ||
		is[*ui.ModeError](err) || is[*ui.FormatError](err) ||
		is[*orchestrator.SavedError](err) || is[*orchestrator.MovedError](err) || is[*release.PackageError](err) || is[*sources.Error](err) ||
		is[*release.UnnamedError](err) || is[*sdk.ContextError](err) || is[*sdk.MissingError](err) || isRefused(err)
}

// isRefused tells a release that was given up before anything was touched.
func isRefused(err error) bool {
	var failure *release.Failure
	return errors.As(err, &failure) && failure.Configuration
}

func is[E error](err error) bool {
	var target E
	return errors.As(err, &target)
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
		var hinted interface{ Hint() string }
		if errors.As(one, &hinted) && hinted.Hint() != "" {
			fmt.Fprintf(w, "     %s\n", ui.Escape(hinted.Hint()))
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
