package docker

import (
	"errors"
	"strings"
	"testing"

	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

func progressOf(observe orchestrator.Observe) *progress {
	step := orchestrator.Step{
		ID: "dependencies/edge",
		Recipe: templates.Recipe{
			Workdir:  "/composition",
			Runs:     []templates.Run{{Line: "make $WHAT", Owner: "context"}},
			Installs: []templates.Install{{Label: "store-orders"}},
			Packages: []string{"@aws-sdk/client-s3@3.0.0"},
		},
		Sources: []orchestrator.Source{{Label: "store-orders", Component: "store.orders"}},
	}
	return newProgress(stage{step: step}, observe)
}

func TestWhoseLineFailed(t *testing.T) {
	for _, row := range []struct{ name, output, owner, reason string }{
		{"as it stands", "#5 [2/3] RUN make $WHAT\n#5 ERROR: process \"x\" did not complete successfully: exit code: 1", "context", "exit code: 1"},
		{"expanded", "#5 [2/3] RUN make all\n#5 ERROR: exit\n  12 | >>> RUN --mount=type=secret,id=A,env=A make $WHAT", "context", "exit"},
		{"npm", "#5 [linux/amd64 2/3] RUN --mount=type=tmpfs,target=/tmp cd /composition/store-orders && npm ci\n#5 ERROR: exit", "store.orders", "exit"},
		{"extensions", "#5 [2/3] RUN npm install --prefix /toa '@aws-sdk/client-s3@3.0.0'\n#5 ERROR: exit", "extensions", "exit"},
		{"a template's own", "#5 [stage-1 2/3] RUN something\n#5 ERROR: exit", "", "exit"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := progressOf(nil)
			for line := range strings.Lines(row.output) {
				p.line("stderr", strings.TrimSuffix(line, "\n"))
			}
			var failed *images.RunError
			if err := p.explain(errors.New("exit status 1")); !errors.As(err, &failed) || failed.Owner != row.owner || failed.Reason != row.reason {
				t.Errorf("explain: got %#v", err)
			}
		})
	}
}

func TestProgramsOfAnotherProcessor(t *testing.T) {
	p := progressOf(nil)
	for _, line := range []string{"#5 [linux/arm64 2/3] RUN make", "#5 0.1 exec /bin/sh: exec format error", "#5 ERROR: exit"} {
		p.line("stderr", line)
	}
	var failed *images.RunError
	if err := p.explain(errors.New("exit status 1")); !errors.As(err, &failed) || !strings.Contains(failed.Hint(), "binfmt") {
		t.Errorf("explain: got %v", err)
	}
}

func TestVersions(t *testing.T) {
	for _, row := range []struct {
		version string
		old     bool
	}{
		{"0.28.1", false},
		{"0.28.0", true},
		{"0.9.3", true},
		{"0.34.2", false},
		{"1.0.0", false},
		{"0.28.1-rc1", false},
		{"0.8+unknown", true},
		{"nonsense", true},
		{"", false},
	} {
		if err := checkVersion(ownBuilder, row.version); (err != nil) != row.old {
			t.Errorf("checkVersion(%q): got %v", row.version, err)
		}
	}
}

// Whatever docker says, what is kept of it is bounded, and failing is an error.
func FuzzProgress(f *testing.F) {
	f.Add("#5 [2/3] RUN make\n#5 0.1 x\n#5 ERROR: y\n 1 | >>> RUN z")
	f.Add("ERROR: no space left on device")
	f.Add("#\n#5\n#5 \n[1/1] RUN ")
	f.Fuzz(func(t *testing.T, output string) {
		passed := 0
		p := progressOf(func(orchestrator.Event) { passed++ })
		count := 0
		for line := range strings.Lines(output) {
			line = strings.TrimSuffix(line, "\n")
			p.line("stderr", line)
			if line != "" {
				count++
			}
		}
		if passed != count || len(p.last) > images.MaxSaid {
			t.Errorf("%d lines are passed on, %d kept, of %d", passed, len(p.last), count)
		}
		if err := p.explain(errors.New("exit status 1")); err == nil || err.Error() == "" {
			t.Error("no error")
		}
	})
}
