package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// allowed are reasons for which a test may be skipped anywhere.
var allowed = []*regexp.Regexp{
	regexp.MustCompile(`workspaces of others|shared workspaces`), // they are not part of the repository
	regexp.MustCompile(`\bas root\b`),                            // root may read and write what a test forbids
}

// event is one line of `go test -json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// report is what is known of a run so far.
type report struct {
	out    io.Writer
	tests  map[string][]string // output of tests that have not ended, by package and name
	lost   []string
	ran    bool
	failed bool
}

// Report copies a run to out and returns the skipped tests that may not be.
// The error says that a test failed, that none ran, or that in is no run.
func Report(in io.Reader, out io.Writer) (lost []string, err error) {
	r := report{out: out, tests: map[string][]string{}}
	for lines := json.NewDecoder(in); ; {
		var e event
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return r.lost, fmt.Errorf("read test events: %w", err)
		}
		r.add(e)
	}
	switch {
	case r.failed:
		return r.lost, errors.New("tests failed")
	case !r.ran:
		return r.lost, errors.New("no test ran")
	}
	return r.lost, nil
}

func (r *report) add(e event) {
	key := e.Package + "." + e.Test
	switch {
	case e.Action == "output" && e.Test != "":
		r.tests[key] = append(r.tests[key], e.Output)
	case e.Action == "output" && e.Output != "PASS\n", e.Action == "build-output":
		r.write(e.Output)
	case e.Action == "fail", e.Action == "build-fail":
		r.failed = true
		r.flush(key)
	case e.Action == "skip" && strings.HasPrefix(e.Test, "Fuzz"): // a seed that the target passes over
		delete(r.tests, key)
	case e.Action == "skip" && e.Test != "":
		r.skip(key)
	case e.Action == "pass" && e.Test != "":
		r.ran = true
		delete(r.tests, key)
	}
}

// flush writes what a test wrote, but for the lines that say where it stands.
func (r *report) flush(key string) {
	for _, line := range r.tests[key] {
		if !strings.HasPrefix(line, "=== ") {
			r.write(line)
		}
	}
	delete(r.tests, key)
}

func (r *report) skip(key string) {
	reason := strings.Join(r.tests[key], "")
	if !slices.ContainsFunc(allowed, func(a *regexp.Regexp) bool { return a.MatchString(reason) }) {
		r.lost = append(r.lost, key)
	}
	r.flush(key)
}

// write ignores errors: there is nowhere to report that standard output is gone.
func (r *report) write(text string) { _, _ = io.WriteString(r.out, text) }
