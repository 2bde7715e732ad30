package docker_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"toa.io/toa/images"
	"toa.io/toa/images/docker"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

var update = flag.Bool("update", false, "write golden files anew")

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// What docker is called with, word for word.
func TestArguments(t *testing.T) {
	t.Setenv("CANARY_TOKEN", "canary-argument")
	several := func(s orchestrator.Step) orchestrator.Step {
		s.Recipe.Platforms = []string{"linux/amd64", "linux/arm64"}
		return s
	}
	for _, row := range []struct {
		name string
		step func(t *testing.T) orchestrator.Step
		deps []orchestrator.Result
		set  func(*docker.Builder)
	}{
		{"composition", func(t *testing.T) orchestrator.Step { return several(composition(t, files{"a": "1"})) }, nil, nil},
		{"dependencies", func(t *testing.T) orchestrator.Step { return dependencies(t, "base.test/node:1", digest) }, nil, nil},
		{"plain", func(t *testing.T) orchestrator.Step {
			s := dependencies(t, "base.test/node:1", digest)
			s.Recipe.Plain = true
			return s
		}, nil, nil},
		{"cached", func(t *testing.T) orchestrator.Step { return composition(t, files{"a": "1"}) }, nil, func(b *docker.Builder) {
			b.Cache = "registry.test/shop/buildcache"
		}},
		{"host", func(t *testing.T) orchestrator.Step { return composition(t, files{"a": "1"}) }, nil, func(b *docker.Builder) {
			b.HostOnly = true
		}},
		{
			"on-published", func(t *testing.T) orchestrator.Step { return composition(t, files{"a": "1"}) },
			[]orchestrator.Result{{Reference: orchestrator.Reference{Repository: "registry.test/shop/composition-edge", Tag: "deps-t", Digest: digest}}},
			nil,
		},
		{
			"on-layout", func(t *testing.T) orchestrator.Step { return composition(t, files{"a": "1"}) },
			[]orchestrator.Result{{Reference: orchestrator.Reference{Repository: "shop/composition-edge", Tag: "deps-t", Digest: digest}}},
			func(b *docker.Builder) { b.Layout = &images.Layout{Dir: "/images"} },
		},
		{"on-base-layouts", func(t *testing.T) orchestrator.Step {
			s := several(composition(t, files{"a": "1"}))
			s.Recipe.Base, s.Recipe.Digests = "oci-layout://bases/one", []string{digest, strings.Replace(digest, "0123", "3210", 1)}
			return s
		}, nil, func(b *docker.Builder) { b.Root = "/workspace" }},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, engine)
			s := row.step(t)
			b.archive(t, several(composition(t, files{"a": "1"})))
			if row.set != nil {
				row.set(b.builder)
			}
			if _, err := b.builder.Build(t.Context(), s, row.deps); err != nil {
				t.Fatalf("Build: %v", err)
			}
			calls := b.calls(t)
			golden(t, row.name+".golden", calls+froms(readAll(t, filepath.Join(b.dir, "kept", "Dockerfile"))))
			if strings.Contains(calls+b.seen.text(), "canary") {
				t.Errorf("a secret is in arguments or output:\n%s%s", calls, b.seen.text())
			}
			b.left(t)
		})
	}
}

// froms are the lines of a Dockerfile that say what it starts from.
func froms(dockerfile string) string {
	var all strings.Builder
	for line := range strings.Lines(dockerfile) {
		if strings.HasPrefix(line, "FROM ") {
			all.WriteString(line)
		}
	}
	return all.String()
}

// The image is the one in the archive, byte for byte.
func TestImageIsWhatTheEngineGives(t *testing.T) {
	b := newBench(t, engine)
	s := composition(t, files{"a": "1", "bin/run": "x:#!/bin/sh\n", "link": "->a"})
	want := b.archive(t, s)
	got, err := b.builder.Build(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest() != want.Digest() {
		t.Errorf("Build: got %s, want %s", got.Digest(), want.Digest())
	}
	layout := &images.Layout{Dir: t.TempDir(), Blobs: b.blobs}
	if digest, err := layout.Publish(t.Context(), s, got); err != nil || digest != want.Digest() {
		t.Errorf("Publish: got %s, %v", digest, err)
	}
}

// The context holds the files of the plan, as layers have them, and nothing else.
func TestContextIsThePlansFiles(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	b := newBench(t, engine)
	s := composition(t, files{"a": "1", "bin/run": "x:#!/bin/sh\n", "link": "->bin/run", "node_modules/kept/x": "1", ".dockerignore": "a\n"})
	b.archive(t, s)
	if _, err := b.builder.Build(t.Context(), s, nil); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"-rw-r--r-- 1970 store-orders/.dockerignore",
		"-rw-r--r-- 1970 store-orders/a",
		"-rw-r--r-- 1970 store-orders/node_modules/kept/x",
		"-rwxr-xr-x 1970 store-orders/bin/run",
		"Lrwxrwxrwx 1970 store-orders/link -> bin/run",
		"drwxr-xr-x 1970 store-orders",
		"drwxr-xr-x 1970 store-orders/bin",
		"drwxr-xr-x 1970 store-orders/node_modules",
		"drwxr-xr-x 1970 store-orders/node_modules/kept",
	}
	if got := listing(t, filepath.Join(b.dir, "kept", "context")); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("context:\n got %q\nwant %q", got, want)
	}
}

// C85: nobody else reads a context while it stands, and secrets are beside it.
func TestStageIsPrivate(t *testing.T) {
	t.Setenv("CANARY_TOKEN", "canary-argument")
	b := newBench(t, engine)
	b.archive(t, composition(t, files{"a": "1"}))
	if _, err := b.builder.Build(t.Context(), dependencies(t, "base.test/node:1", digest), nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(b.dir, "kept"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the stage: got %v, %v, want 0700", info.Mode(), err)
	}
	for _, name := range listing(t, filepath.Join(b.dir, "kept", "context")) {
		if strings.Contains(name, "npmrc") {
			t.Errorf("%s is in the context", name)
		}
	}
	secret := filepath.Join(b.dir, "kept", "secrets", "npmrc.store-orders")
	if got := readAll(t, secret); !strings.Contains(got, "canary-npmrc") {
		t.Errorf("secret of .npmrc: got %q", got)
	}
}

// C76: six builds of two processes make the builder once.
func TestBuilderIsMadeOnce(t *testing.T) {
	script := `
case "$*" in
*"buildx inspect"*) [ -e made ] || { echo 'ERROR: no builder "toa" found' >&2; exit 1; }; echo "BuildKit version: v0.34.2";;
*"buildx create"*) [ -e made ] && { echo 'ERROR: existing instance for "toa"' >&2; exit 1; }; : > made;;
*"buildx build"*) cat archive.tar;;
esac
`
	b := newBench(t, script)
	s := composition(t, files{"a": "1"})
	b.archive(t, s)
	other := &docker.Builder{Blobs: b.blobs, Docker: b.builder.Docker}
	var wait sync.WaitGroup
	for i := range 6 {
		builder := []*docker.Builder{b.builder, other}[i%2]
		wait.Go(func() {
			if _, err := builder.Build(t.Context(), s, nil); err != nil {
				t.Errorf("Build: %v", err)
			}
		})
	}
	wait.Wait()
	calls := b.calls(t)
	if strings.Count(calls, "buildx create") != 1 || strings.Count(calls, "buildx build") != 6 || strings.Count(calls, "buildx inspect toa\n") != 2 {
		t.Errorf("calls:\n%s", calls)
	}
	if !strings.Contains(calls, "--context=default buildx create --name toa --driver docker-container --driver-opt network=host --bootstrap\n") {
		t.Errorf("create is not that of the reference:\n%s", calls)
	}
	b.left(t)
}

func TestDefaultBuilderThatGivesNothingOut(t *testing.T) {
	b := newBench(t, `
case "$*" in *"buildx build"*"--builder default"*)
	echo 'ERROR: failed to build: OCI exporter is not supported for the docker driver.' >&2; exit 1;;
esac`+engine)
	b.builder.HostOnly = true
	s := composition(t, files{"a": "1"})
	want := b.archive(t, s)
	for range 2 {
		got, err := b.builder.Build(t.Context(), s, nil)
		if err != nil || got.Digest() != want.Digest() {
			t.Fatalf("Build: got %v, %v", got, err)
		}
		if err := os.RemoveAll(filepath.Join(b.dir, "kept")); err != nil {
			t.Fatal(err)
		}
	}
	if calls := b.calls(t); strings.Count(calls, "--builder default") != 1 || strings.Count(calls, "--builder toa") != 2 {
		t.Errorf("calls:\n%s", calls)
	}
}

func TestTroubles(t *testing.T) {
	ready := `case "$*" in *"buildx inspect"*) echo "BuildKit version: v0.34.2"; exit;; esac` + "\n"
	for _, row := range []struct{ name, script, want, hint string }{
		{"daemon down", `echo 'ERROR: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?' >&2; exit 1`, "Cannot connect to the Docker daemon", "start Docker"},
		{"daemon down, builder known", `case "$*" in *--bootstrap*) echo 'ERROR: failed to connect to the docker API' >&2; exit 1;; esac`, "failed to connect", "--builder native"},
		{"not allowed", `echo 'permission denied while trying to connect to the Docker daemon socket' >&2; exit 1`, "permission denied", "its group is docker"},
		{"no buildx", `echo "docker: 'buildx' is not a docker command." >&2; exit 1`, "is not a docker command", "install docker buildx"},
		{"old buildx", ready + `echo 'unknown flag: --provenance' >&2; exit 125`, "unknown flag: --provenance", "install docker buildx"},
		{"old BuildKit", `echo 'BuildKit version: v0.27.9'`, "BuildKit 0.27.9, and 0.28.1", "docker buildx rm toa"},
		{"no space", ready + `echo 'ERROR: failed to solve: write /x: no space left on device' >&2; exit 1`, "no space is left", "docker buildx prune"},
		{"something else", ready + `echo 'ERROR: failed to solve: it is Monday' >&2; echo 'View build details' >&2; exit 1`, "docker: failed to solve: it is Monday", ""},
		{"no words", ready + `exit 3`, "exit status 3", ""},
		{"no archive", ready + `echo fine >&2`, "it has no index.json", ""},
		{"half an archive", ready + `head -c 2148 archive.tar`, "unexpected EOF", ""},
		{"a failure after the archive", ready + `cat archive.tar; echo 'ERROR: late' >&2; exit 1`, "docker: late", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, row.script)
			s := composition(t, files{"a": "1"})
			b.archive(t, s)
			_, err := b.builder.Build(t.Context(), s, nil)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("Build: got %v, want %q", err, row.want)
			}
			var hinted interface{ Hint() string }
			hint := ""
			if errors.As(err, &hinted) {
				hint = hinted.Hint()
			}
			if !strings.Contains(hint, row.hint) {
				t.Errorf("Hint: got %q, want %q", hint, row.hint)
			}
			b.left(t)
		})
	}
}

func TestDockerIsMissing(t *testing.T) {
	b := newBench(t, "")
	b.builder.Docker = "no-such-docker"
	_, err := b.builder.Build(t.Context(), composition(t, files{"a": "1"}), nil)
	var missing *images.NoCommandError
	if !errors.As(err, &missing) || !strings.Contains(missing.Hint(), "install Docker") {
		t.Errorf("Build: got %v, want a NoCommandError with a hint", err)
	}
}

// An argument without a value is told of before docker is called at all.
func TestUnsetArgument(t *testing.T) {
	b := newBench(t, engine)
	s := dependencies(t, "base.test/node:1", digest)
	s.Recipe.Arguments = []string{"TOA_TEST_NEVER_SET"}
	_, err := b.builder.Build(t.Context(), s, nil)
	var unset *images.UnsetArgumentError
	if !errors.As(err, &unset) || unset.Name != "TOA_TEST_NEVER_SET" || unset.Hint() == "" {
		t.Errorf("Build: got %v, want an UnsetArgumentError", err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "calls")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("docker was called: %v", err)
	}
	if err := images.CheckArguments([]orchestrator.Step{{Cached: true, Recipe: s.Recipe}}); err != nil {
		t.Errorf("CheckArguments of a cached step: %v", err)
	}
	if err := images.CheckArguments([]orchestrator.Step{s}); !errors.As(err, &unset) {
		t.Errorf("CheckArguments: got %v", err)
	}
}

// A RUN that fails is told with its owner, its line and the end of its output,
// without the values of secrets.
func TestRunThatFails(t *testing.T) {
	t.Setenv("CANARY_TOKEN", "canary-argument")
	b := newBench(t, `case "$*" in *"buildx inspect"*) echo "BuildKit version: v0.34.2"; exit;; esac
exec >&2
echo '#6 [linux/amd64 2/4] RUN true'
echo '#7 [linux/amd64 3/4] RUN --mount=type=secret,id=CANARY_TOKEN,env=CANARY_TOKEN make all'
i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo "#7 0.$i line $i"; echo "#6 0.1 other"; done
echo '#7 1.2 token canary-argument'
echo '#7 ERROR: process "/bin/sh -c make all" did not complete successfully: exit code: 2'
echo '------'
echo 'ERROR: failed to build: failed to solve: process "/bin/sh -c make all" did not complete successfully: exit code: 2'
exit 1`)
	_, err := b.builder.Build(t.Context(), dependencies(t, "base.test/node:1", digest), nil)
	var failed *images.RunError
	if !errors.As(err, &failed) {
		t.Fatalf("Build: got %v, want a RunError", err)
	}
	if failed.Owner != "store.orders" || failed.Line != "make all" || failed.Reason != "exit code: 2" {
		t.Errorf("RunError: got %+v", failed)
	}
	if len(failed.Said) != images.MaxSaid || failed.Said[0] != "line 22" || failed.Said[19] != "token ***" {
		t.Errorf("Said: got %q", failed.Said)
	}
	if text := b.seen.text(); strings.Contains(text, "canary") || !strings.Contains(text, "dependencies/edge stderr: #7 0.1 line 1\n") {
		t.Errorf("output:\n%s", text)
	}
	b.left(t)
}

// The whole tree of processes is gone when Build returns, and so are its files.
func TestInterruptedBuildLeavesNothing(t *testing.T) {
	b := newBench(t, `case "$*" in *"buildx inspect"*) echo "BuildKit version: v0.34.2"; exit;; esac
exec 3>alive
(trap '' INT TERM; sleep 1000) &
echo ready >&3
sleep 1000`)
	pipe := filepath.Join(b.dir, "alive")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupted")
	done := make(chan error, 1)
	go func() {
		_, err := b.builder.Build(ctx, composition(t, files{"a": "1"}), nil)
		done <- err
	}()
	alive, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = alive.Close() }()
	if _, err := io.ReadFull(alive, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	cancel(stop)
	if err := <-done; !errors.Is(err, stop) {
		t.Errorf("Build: got %v, want %v", err, stop)
	}
	if _, err := io.ReadAll(alive); err != nil { // ends when the last holder has ended
		t.Error(err)
	}
	b.left(t)
}

// A file that changes between planning and building fails the build.
func TestFileThatChanged(t *testing.T) {
	b := newBench(t, engine)
	s := composition(t, files{"a": "111"})
	files{"a": "222"}.write(t, s.Sources[0].Dir)
	_, err := b.builder.Build(t.Context(), s, nil)
	if err == nil || !strings.Contains(err.Error(), "store.orders") {
		t.Errorf("Build: got %v, want an error that names the component", err)
	}
	b.left(t)
}

// C77: images do not share a cache reference.
func TestCacheReferences(t *testing.T) {
	seen := map[string]orchestrator.Step{}
	for _, s := range []orchestrator.Step{
		{ID: "composition/edge"},
		{ID: "dependencies/edge"},
		{ID: "composition/core"},
		{ID: "mono"},
		{ID: "mono", Recipe: templates.Recipe{Platforms: []string{"linux/arm64"}}},
	} {
		reference := images.CacheReference("registry.test/shop/buildcache", s)
		if other, twice := seen[reference]; twice {
			t.Errorf("%s is the cache of %s and of %s", reference, other.ID, s.ID)
		}
		seen[reference] = s
	}
	if got := images.CacheReference("", orchestrator.Step{ID: "mono"}); got != "" {
		t.Errorf("without a base: got %q", got)
	}
}
