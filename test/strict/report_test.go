package main

import (
	"slices"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		events []string
		out    string
		lost   []string
		err    string
	}{
		"passing tests are as terse as go test": {
			events: []string{
				`{"Action":"start","Package":"p"}`,
				`{"Action":"run","Package":"p","Test":"TestA"}`,
				`{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}`,
				`{"Action":"output","Package":"p","Test":"TestA","Output":"--- PASS: TestA (0.00s)\n"}`,
				`{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0}`,
				`{"Action":"output","Package":"p","Output":"PASS\n"}`,
				`{"Action":"output","Package":"p","Output":"ok  \tp\t0.003s\n"}`,
				`{"Action":"pass","Package":"p","Elapsed":0.003}`,
			},
			out: "ok  \tp\t0.003s\n",
		},
		"a failure is told in full": {
			events: []string{
				`{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}`,
				`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:5: no\n"}`,
				`{"Action":"output","Package":"p","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}`,
				`{"Action":"fail","Package":"p","Test":"TestA"}`,
				`{"Action":"output","Package":"p","Output":"FAIL\tp\t0.003s\n"}`,
				`{"Action":"fail","Package":"p"}`,
			},
			out: "    a_test.go:5: no\n--- FAIL: TestA (0.00s)\nFAIL\tp\t0.003s\n",
			err: "tests failed",
		},
		"a skipped test is lost": {
			events: []string{
				`{"Action":"pass","Package":"p","Test":"TestB"}`,
				`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:5: npm is missing\n"}`,
				`{"Action":"skip","Package":"p","Test":"TestA"}`,
			},
			out:  "    a_test.go:5: npm is missing\n",
			lost: []string{"p.TestA"},
		},
		"a skip for an allowed reason is told and not lost": {
			events: []string{
				`{"Action":"pass","Package":"p","Test":"TestB"}`,
				`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:5: the shared workspaces are not here\n"}`,
				`{"Action":"skip","Package":"p","Test":"TestA"}`,
			},
			out: "    a_test.go:5: the shared workspaces are not here\n",
		},
		"a seed that a fuzz target passes over is no skipped test": {
			events: []string{
				`{"Action":"output","Package":"p","Test":"FuzzA/seed#1","Output":"    a_test.go:5: not text\n"}`,
				`{"Action":"skip","Package":"p","Test":"FuzzA/seed#1"}`,
				`{"Action":"pass","Package":"p","Test":"FuzzA"}`,
			},
		},
		"a package without tests is no skipped test": {
			events: []string{
				`{"Action":"pass","Package":"p","Test":"TestB"}`,
				`{"Action":"output","Package":"q","Output":"?   \tq\t[no test files]\n"}`,
				`{"Action":"skip","Package":"q"}`,
			},
			out: "?   \tq\t[no test files]\n",
		},
		"what does not compile is told": {
			events: []string{
				`{"Action":"build-output","ImportPath":"p","Output":"p/a.go:1: no\n"}`,
				`{"Action":"build-fail","ImportPath":"p"}`,
			},
			out: "p/a.go:1: no\n",
			err: "tests failed",
		},
		"no test at all": {err: "no test ran"},
		"no events": {
			events: []string{`go: no such tool`},
			err:    "read test events: invalid character 'g' looking for beginning of value",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			lost, err := Report(strings.NewReader(strings.Join(c.events, "\n")), &out)
			if out.String() != c.out || !slices.Equal(lost, c.lost) {
				t.Errorf("Report wrote %q and lost %q, want %q and %q", out.String(), lost, c.out, c.lost)
			}
			if got := message(err); got != c.err {
				t.Errorf("Report: %q, want %q", got, c.err)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
