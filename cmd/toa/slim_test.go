package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"toa.io/toa/internal/sdk"
	"toa.io/toa/internal/treetest"
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

// slimDir is empty until slim made it.
var slimDir string

// slim is the directory of the slim binary, as it is installed: beside the full
// one, which this test's own binary is where it is called toa. It is race
// detected where that is.
var slim = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "toa-slim-"); err != nil {
		return "", err
	}
	slimDir = dir
	args := []string{"build", "-tags", "slim", "-o", filepath.Join(dir, "toa")}
	if raceDetected() {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		return dir, fmt.Errorf("go build: %w\n%s", err, out)
	}
	self, err := os.Executable()
	return dir, errors.Join(err, os.Symlink(self, filepath.Join(dir, sdk.FullName)))
})

func raceDetected() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// slimFirst makes the slim binary the toa of a script: it starts faster, and the
// scripts hold it to what the full one promises.
func slimFirst(env *testscript.Env) error {
	dir, err := slim()
	env.Setenv("GORACE", os.Getenv("GORACE"))
	env.Setenv("PATH", dir+string(filepath.ListSeparator)+env.Getenv("PATH"))
	return err
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
	installed, err := slim()
	if err != nil {
		t.Fatal(err)
	}
	s := slimTrial{t, t.TempDir()}
	alone := filepath.Join(t.TempDir(), "toa")
	if err := os.Link(filepath.Join(installed, "toa"), alone); err != nil {
		t.Fatal(err)
	}
	shop := absolute(t, "../../examples/shop")

	if got := s.run(alone, "", "graph", "build", "-C", shop); got.code != 0 {
		t.Fatalf("graph build = %+v", got)
	}
	if got := s.run(alone, "", "status", "-C", shop, "--kube-context", "prod"); got.code != 2 || !strings.Contains(got.err, sdk.FullName) {
		t.Errorf("status = %+v without the full binary, want an error that names it", got)
	}

	// Called toa, this test's own binary is the full one.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	links := t.TempDir()
	link, full := filepath.Join(links, "slim", "toa"), filepath.Join(links, "full", "toa")
	symlink(t, filepath.Join(installed, "toa"), link)
	symlink(t, self, full)
	for name, args := range map[string][]string{
		"a cluster":               {"status", "-C", shop, "--kube-context", "prod"},
		"a release to one":        {"graph", "build", "-C", shop, "--kube-context", "prod"},
		"rendered manifests":      {"deploy", "--dry", "-C", shop},
		"a role":                  {"export", "role", "-C", shop},
		"a plan to be saved":      {"graph", "plan", "-C", shop, "--diff"},
		"a rollback":              {"rollback", "-C", shop, "--kube-context", "prod"},
		"what a secret holds":     {"reveal", "amqp", "-C", shop, "--kube-context", "prod"},
		"a wrong flag of its own": {"status", "-o", "none", "-C", shop},
		"standard input":          {"conceal", "amqp", "password=-", "-C", shop, "--kube-context", "prod"},
		"a registry":              {"registry", "serve", "--addr", "none"},
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

// What the slim binary says of a builder is what a build would say.
func TestSlimDoctorOfNoAddress(t *testing.T) {
	installed, err := slim()
	if err != nil {
		t.Fatal(err)
	}
	dir := treetest.Files{
		"context.toa.yaml":                    "name: shop\nregistry:\n  build:\n    image: scratch\nresources: null\nmongodb: mongodb://mongodb\namqp: amqp://rabbitmq\nbuilder:\n  kind: buildkit\n",
		"components/orders/manifest.toa.yaml": "namespace: store\nname: orders\n",
	}.Write(t, t.TempDir())
	got := slimTrial{t, t.TempDir()}.run(filepath.Join(installed, "toa"), "", "doctor", "-C", dir)
	if !strings.Contains(got.out, "builder buildkit has no address") {
		t.Errorf("doctor = %+v, want that the builder has no address", got)
	}
}
