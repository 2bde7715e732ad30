package extensions_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"toa.io/toa/extensions"
	"toa.io/toa/workspace"
)

var update = flag.Bool("update", false, "rewrite golden files")

// trial is the workspace of testdata for an environment.
func trial(t *testing.T, environment string) *workspace.Workspace {
	t.Helper()
	root := os.DirFS("testdata/trial")
	ws, err := workspace.Load(root, environment, nil)
	if err != nil {
		t.Fatalf("load for %q: %v", environment, err)
	}
	if err := ws.Discover(root); err != nil {
		t.Fatalf("discover: %v", err)
	}
	return ws
}

func TestTrial(t *testing.T) {
	for name, environment := range map[string]string{
		"local": "", "staging": "staging", "production": "production", "chain": "eu:production",
	} {
		for suffix, mono := range map[string]bool{"": false, ".mono": true} {
			t.Run(name+suffix, func(t *testing.T) {
				d, err := extensions.Declare(t.Context(), trial(t, environment), extensions.Options{Mono: mono})
				if err != nil {
					t.Fatal(err)
				}
				golden(t, name+suffix+".txt", drawn(d))
			})
		}
	}
}

// golden compares with a file of testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and read the diff: %s", file, difference(string(want), got))
	}
}

// difference is the first line that differs.
func difference(want, got string) string {
	wanted, gotten := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(wanted), len(gotten)) {
		if wanted[i] != gotten[i] {
			return "want " + wanted[i] + "\ngot  " + gotten[i]
		}
	}
	return "one ends earlier"
}

// drawn is a deployment for people to read.
func drawn(d *extensions.Deployment) string {
	var out strings.Builder
	for _, u := range d.Units {
		fmt.Fprintf(&out, "%s\n  components %v\n  packages %v\n  hosted %v\n  replicas %d\n", u.ID, u.Components, u.Packages, u.Hosted, u.Replicas)
		fmt.Fprintf(&out, "  resources %s\n  probe %s\n  backends %s\n", line(u.Resources), line(u.Probe), line(u.Backends))
		fmt.Fprintf(&out, "  mounts %s\n  installs %s\n", line(u.Mounts), line(u.Installs))
		drawVariables(&out, u.Variables)
	}
	for _, s := range d.Services {
		fmt.Fprintf(&out, "%s of %s %s %s\n  port %d\n  ingress %s\n  annotations %s\n  hosts %v\n",
			s.ID(), s.Package, s.Version, s.Image, s.Port, line(s.Ingress), line(s.Annotations), s.Hosts)
	}
	fmt.Fprintf(&out, "ingress %s\nannotations %s\n", line(d.Ingress), line(d.Annotations))
	for _, s := range d.Secrets {
		fmt.Fprintf(&out, "secret %s\n", line(s))
	}
	for _, n := range d.Notices {
		fmt.Fprintf(&out, "notice %s %v\n", n.Text, n.Positions)
	}
	return out.String()
}

func drawVariables(out *strings.Builder, variables []extensions.Variable) {
	for _, v := range variables {
		if v.Secret != nil {
			fmt.Fprintf(out, "    %s from %s/%s\n", v.Name, v.Secret.Name, v.Secret.Key)
			continue
		}
		fmt.Fprintf(out, "    %s=%s\n", v.Name, v.Value)
	}
}

func line(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// What packages are told and answer does not depend on the order in which
// components are found.
func TestOrderDoesNotMatter(t *testing.T) {
	ws := trial(t, "eu:production")
	declared := func(o extensions.Options) string {
		d, err := extensions.Declare(t.Context(), ws, o)
		if err != nil {
			t.Fatal(err)
		}
		return drawn(d)
	}
	apart, together := declared(extensions.Options{}), declared(extensions.Options{Mono: true})
	components := ws.Components
	rapid.Check(t, func(r *rapid.T) {
		ws.Components = rapid.Permutation(components).Draw(r, "order")
		if got := declared(extensions.Options{}); got != apart {
			r.Fatalf("differs: %s", difference(apart, got))
		}
		if got := declared(extensions.Options{Mono: true}); got != together {
			r.Fatalf("differs with --mono: %s", difference(together, got))
		}
	})
}
