package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"toa.io/toa/internal/sdk"
)

// said is all that a run leaves: what it printed, and how it ended.
type said struct {
	out, err string
	code     int
}

// slimTrial runs binaries on the example with a cache of their own.
type slimTrial struct {
	*testing.T
	cache string
}

func (s slimTrial) run(binary, in string, args ...string) said {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), binary, args...)
	cmd.Env = append(os.Environ(), "TOA_CACHE_DIR="+s.cache, "KUBECONFIG="+filepath.Join(s.cache, "none"), "BUILDKIT_HOST=")
	var out, err bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &err
	if failure := cmd.Run(); failure != nil && cmd.ProcessState == nil {
		s.Fatal(failure)
	}
	return said{out.String(), err.String(), cmd.ProcessState.ExitCode()}
}

// buildSlim compiles the slim binary.
func buildSlim(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "toa")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "slim", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

func symlink(t *testing.T, to, path string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(to, path)); err != nil {
		t.Fatal(err)
	}
}

// TestSlim holds the slim binary to the full one: it does the main job alone,
// and becomes the full one for the rest, before it has said anything.
func TestSlim(t *testing.T) {
	s := slimTrial{t, t.TempDir()}
	slim := buildSlim(t)
	shop := absolute(t, "../../examples/shop")

	if got := s.run(slim, "", "graph", "build", "-C", shop); got.code != 0 {
		t.Fatalf("graph build = %+v", got)
	}
	if got := s.run(slim, "", "status", "-C", shop, "--kube-context", "prod"); got.code != 2 || !strings.Contains(got.err, sdk.FullName) {
		t.Errorf("status = %+v without the full binary, want an error that names it", got)
	}

	// Called toa, this test's own binary is the full one.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	links := t.TempDir()
	link, full := filepath.Join(links, "slim", "toa"), filepath.Join(links, "full", "toa")
	symlink(t, self, full)
	symlink(t, slim, link)
	symlink(t, self, filepath.Join(filepath.Dir(slim), sdk.FullName))
	for name, args := range map[string][]string{
		"a cluster":               {"status", "-C", shop, "--kube-context", "prod"},
		"a release to one":        {"graph", "build", "-C", shop, "--kube-context", "prod"},
		"rendered manifests":      {"deploy", "--dry", "-C", shop},
		"a role":                  {"export", "role", "-C", shop},
		"a plan to be saved":      {"graph", "plan", "-C", shop, "--diff"},
		"standard input":          {"conceal", "amqp", "password=-", "-C", shop, "--kube-context", "prod"},
		"an address of no engine": {"graph", "build", "-C", shop, "--builder-address", "none://"},
	} {
		t.Run(name, func(t *testing.T) {
			want := s.run(full, "secret", args...)
			if got := s.run(link, "secret", args...); got != want {
				t.Errorf("the slim binary:\n%+v\nthe full one:\n%+v", got, want)
			}
		})
	}
}
