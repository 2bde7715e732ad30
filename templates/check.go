package templates

import (
	"errors"
	"fmt"
	"strings"

	"toa.io/toa/internal/lazyregexp"
)

// check refuses a recipe that a Dockerfile cannot say: with something missing,
// or with a value that would not stay in its place.
func check(r Recipe) error {
	for _, one := range []error{checkLines(r), checkPresent(r), checkWords(r), checkRuns(r)} {
		if one != nil {
			return one
		}
	}
	return nil
}

// checkLines refuses what would end its line or join it with the next.
func checkLines(r Recipe) error {
	var bad error
	r.Fields(func(label, value string) {
		if strings.ContainsAny(label+value, "\n\r\x00") || strings.HasSuffix(strings.TrimRight(value, " \t"), `\`) {
			bad = fmt.Errorf("%s holds a line break, or ends in a backslash: %q", label, value)
		}
	})
	return bad
}

func checkPresent(r Recipe) error {
	switch {
	case r.Template == "" && Source(r.Kind) == "":
		return fmt.Errorf("there is no template of %q", r.Kind)
	case r.Base == "":
		return errors.New("it has no base image")
	case r.Workdir == "":
		return errors.New("it has no workdir")
	case r.Cmd == "" && r.Kind != "dependencies":
		return errors.New("it has no command")
	default:
		return nil
	}
}

// Values that stand unquoted where the engine splits and expands words.
var (
	baseWord     = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)
	pathWord     = lazyregexp.New(`^/[A-Za-z0-9._/-]*$`)
	labelWord    = lazyregexp.New(`^([A-Za-z0-9_][A-Za-z0-9._/-]*)?$`)
	argumentWord = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	variableWord = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*=`)
)

func checkWords(r Recipe) error {
	w := words{}
	w.check("base", r.Base, baseWord)
	w.check("workdir", r.Workdir, pathWord)
	for _, one := range r.Copies {
		w.check("copied directory", one.Label, labelWord)
	}
	for _, one := range r.Installs {
		w.check("directory of packages", one.Label, labelWord)
	}
	for _, name := range r.Arguments {
		w.check("build argument", name, argumentWord)
	}
	for _, line := range r.Env {
		w.check("variable", line, variableWord)
	}
	if strings.HasPrefix(strings.TrimSpace(r.Cmd), "[") {
		w.bad = fmt.Errorf("command %q would be read as a list", r.Cmd)
	}
	return w.bad
}

// words remembers the first word that is wrong.
type words struct{ bad error }

func (w *words) check(what, word string, want *lazyregexp.Regexp) {
	if w.bad == nil && !want.MatchString(word) {
		w.bad = fmt.Errorf("%s %q cannot stand in a Dockerfile", what, word)
	}
}

// heredoc is how a here-document begins, which takes all lines up to one that
// a value may hold. <<< is none.
var heredoc = lazyregexp.New(`(^|[^<])<<($|[^<])`)

// checkRuns refuses blank lines and here-documents. Other values in RUN lines
// are quoted, but engines look for here-documents before the shell is asked.
func checkRuns(r Recipe) error {
	lines := append([]string{r.NPM.Registry, r.NPM.Proxy}, r.Packages...)
	for _, run := range r.Runs {
		if strings.TrimSpace(run.Line) == "" {
			return fmt.Errorf("a run line of %s is blank", run.Owner)
		}
		lines = append(lines, run.Line)
	}
	for _, line := range lines {
		if heredoc.MatchString(line) {
			return fmt.Errorf("%q: a here-document would take in the instructions that follow", line)
		}
	}
	return nil
}
