package chart_test

import (
	"errors"
	"strings"
	"testing"

	"toa.io/toa/chart"
)

func TestCheckVersion(t *testing.T) {
	for _, version := range []string{
		"0.0.0", "1.2.3", "10.20.30", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-0.3.7", "1.0.0-x-y-z.--",
		"1.0.0+20130313144700", "1.0.0-beta+exp.sha.5114f85", "1.0.0-0A", "1.0.0+001", "99999999999999999999.0.0",
	} {
		in := shop()
		in.Workspace.Context.Version = version
		if err := chart.Check(in.Workspace); err != nil {
			t.Errorf("Check with version %q: %v", version, err)
		}
	}
	for _, version := range []string{
		"1", "1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.02.3", "1.2.03", "1.2.3-", "1.2.3-01", "1.2.3-a..b",
		"1.2.3+", "1.2.3+a+b", "1.2.3 ", " 1.2.3", "1.2.3\n", "1.2.3-é", "latest", "1.2.x", "../1.2.3", "1.2.3/4", "1.2.3-a_b",
	} {
		in := shop()
		in.Workspace.Context.Version = version
		var wrong *chart.VersionError
		if err := chart.Check(in.Workspace); !errors.As(err, &wrong) || wrong.Version != version {
			t.Errorf("Check with version %q: error %v, want *VersionError that names it", version, err)
		}
	}
}

func TestCheckNamesWhatToDo(t *testing.T) {
	long := strings.Repeat("a", 54)
	for name, test := range map[string]struct {
		change func(chart.Input)
		want   string
		hint   string
	}{
		"no version": {
			func(in chart.Input) { in.Workspace.Context.Version = "" },
			`context "My_Shop" states no version, and its chart is versioned by it`, "`version: 0.1.0`",
		},
		"not semantic": {
			func(in chart.Input) { in.Workspace.Context.Version = "1.0" },
			`context "My_Shop" has version "1.0", which is not a semantic version`, "`1.2.3`",
		},
		"long name": {
			func(in chart.Input) { in.Workspace.Context.Name = long },
			`context.toa.yaml: context name "` + long + `" has 54 characters, a release takes 53`, "shorten",
		},
		"long label": {
			func(in chart.Input) { in.Workspace.Components[0].Label = long },
			`component name "` + long + `" has 54 characters, a release takes 53`, "shorten",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := shop()
			test.change(in)
			err := chart.Check(in.Workspace)
			if err == nil || err.Error() != test.want {
				t.Fatalf("Check: error %v, want %s", err, test.want)
			}
			if _, same := chart.New(in); same == nil || same.Error() != test.want {
				t.Errorf("New: error %v, want that of Check", same)
			}
			var hinted interface{ Hint() string }
			if !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), test.hint) || !strings.Contains(hinted.Hint(), "--release none") {
				t.Errorf("hint of %v does not name %s and --release none", err, test.hint)
			}
		})
	}
}
