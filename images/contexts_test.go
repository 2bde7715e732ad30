package images_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

const (
	intel = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	arm   = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

// layered is a composition of two members on its dependencies image, whose base
// is pinned for two platforms.
func layered(t *testing.T) []orchestrator.Step {
	t.Helper()
	const packageJSON, lock, config = `{"dependencies":{"a":"1"}}`, `{"lockfileVersion":3}`, "//npm.example.com/:_authToken=${NPM_TOKEN}"
	orders := files{"index.js": "module.exports = 1", "bin/run": "x:#!/bin/sh", "lib/deep/file.txt": "", "lib/link": "->../index.js"}.write(t, t.TempDir())
	goods := files{"package.json": packageJSON, "package-lock.json": lock, ".npmrc": config, "index.js": ""}.write(t, t.TempDir())
	top := step(t, "registry.example.com/shop/composition-edge", "", map[string]string{"store-orders": orders, "store-goods": goods})
	top.Key = cache.Digest([]byte("edge"))
	top.Reference.Tag = top.Key.Tag()
	top.Recipe.Base = "dependencies/edge"
	top.Sources[0].Tree = tree(t, files{"index.js": ""}.write(t, t.TempDir())) // as if the rest were ignored
	below := orchestrator.Step{
		ID: "dependencies/edge", Key: cache.Digest([]byte("deps")),
		Recipe: templates.Recipe{
			Kind: "dependencies", Base: "ghcr.io/toa-io/runtime:1", Digests: []string{intel, arm},
			Platforms: []string{"linux/amd64", "linux/arm/v7"}, Workdir: "/composition", Arguments: []string{"TOA_NPM_TOKEN_OF_A_TEST"},
			Installs: []templates.Install{{
				Label: "store-goods", Package: digestOf(packageJSON), Lock: digestOf(lock), LockName: "package-lock.json", Config: digestOf(config),
			}},
		},
		Sources:   []orchestrator.Source{{Label: "store-goods", Component: "store.goods", Dir: goods}},
		Reference: orchestrator.Reference{Repository: top.Reference.Repository, Digest: intel},
	}
	below.Reference.Tag = orchestrator.TagOf(below.ID, below.Key)
	return []orchestrator.Step{below, top}
}

func digestOf(text string) string { return cache.Digest([]byte(text)).String() }

// listing is everything below a directory as a build sees it, a line each.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var lines strings.Builder
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		full := filepath.Join(dir, name)
		info, err := os.Lstat(full)
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			content, err = os.Readlink(full)
		case info.Mode().IsRegular():
			var data []byte
			data, err = os.ReadFile(full)
			content = string(data)
		}
		mode := info.Mode()
		if mode&fs.ModeSymlink != 0 {
			mode = fs.ModeSymlink // systems differ in a link's permissions
		}
		fmt.Fprintf(&lines, "%s %s %d %q\n", name, mode, info.ModTime().UnixNano(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines.String()
}

var update = flag.Bool("update", false, "rewrite golden files")

// What is in contexts, and what is not: no .npmrc, no value of a build argument.
func TestContextsGolden(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "contexts")
	if err := images.WriteContexts(t.Context(), dir, layered(t)); err != nil {
		t.Fatal(err)
	}
	got, golden := listing(t, dir), filepath.Join("testdata", "contexts.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "contexts", got, string(want))
}

func TestContextsAreEqualEverywhere(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "a"), t.TempDir()
	if err := images.WriteContexts(t.Context(), first, layered(t)); err != nil {
		t.Fatal(err)
	}
	steps := layered(t) // of other directories, written at another time
	for _, source := range steps[1].Sources {
		file := filepath.Join(source.Dir, source.Tree.Files()[0].Path)
		if err := os.Chtimes(file, time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
	}
	defer syscall.Umask(syscall.Umask(0o077))
	if err := images.WriteContexts(t.Context(), second, steps); err != nil {
		t.Fatal(err)
	}
	same(t, "second export", listing(t, second), listing(t, first))
}

// A base is pinned for each platform; one that is in no registry has a name that
// the engine is told.
func TestContextsPinTheirBase(t *testing.T) {
	for name, test := range map[string]struct {
		base      string
		platforms []string
		want      string
	}{
		"nothing":      {templates.Scratch, []string{"linux/amd64", "linux/arm64"}, "FROM scratch\n"},
		"one platform": {"node:24", []string{"linux/amd64"}, "FROM node:24@" + intel + "\n"},
		"stated":       {"node:24@" + intel, []string{"linux/amd64"}, "FROM node:24@" + intel + "\n"},
		"two platforms": {"node:24", []string{"linux/amd64", "linux/arm64/v8"}, "FROM node:24@" + intel + " AS toa-base-linux-amd64\n" +
			"FROM node:24@" + arm + " AS toa-base-linux-arm64\n" +
			"FROM toa-base-${TARGETOS}-${TARGETARCH}${TARGETVARIANT} AS toa-base\nFROM toa-base\n"},
		"layout": {"oci-layout://bases/node", []string{"linux/amd64"}, "# --build-context toa-base=oci-layout://bases/node@" + intel + "\nFROM toa-base\n"},
		"layout for two platforms": {"oci-layout://bases/node", []string{"linux/amd64", "linux/arm"}, "# --build-context toa-base-linux-amd64-pin=oci-layout://bases/node@" + intel + "\n" +
			"# --build-context toa-base-linux-armv7-pin=oci-layout://bases/node@" + arm + "\n" +
			"FROM toa-base-linux-amd64-pin AS toa-base-linux-amd64\nFROM toa-base-linux-armv7-pin AS toa-base-linux-armv7\n" +
			"FROM toa-base-${TARGETOS}-${TARGETARCH}${TARGETVARIANT} AS toa-base\nFROM toa-base\n"},
	} {
		t.Run(name, func(t *testing.T) {
			one := step(t, "shop/composition-edge", "1", nil)
			one.Recipe.Base, one.Recipe.Platforms, one.Recipe.Digests = test.base, test.platforms, []string{intel, arm}[:len(test.platforms)]
			dir := t.TempDir()
			if err := images.WriteContexts(t.Context(), dir, []orchestrator.Step{one}); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, "composition-edge."+one.Key.Tag(), "Dockerfile"))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(text), test.want+"ENV") {
				t.Errorf("Dockerfile is\n%s\nwant it to begin with\n%s", text, test.want)
			}
		})
	}
}

// The stage of a platform is what an engine finds under TARGETOS, TARGETARCH and
// TARGETVARIANT.
func TestStageOfEachPlatform(t *testing.T) {
	for platform, want := range map[string]string{
		"linux/amd64": "linux-amd64", "linux/arm64": "linux-arm64", "linux/arm64/v8": "linux-arm64",
		"linux/arm": "linux-armv7", "linux/arm/v6": "linux-armv6", "linux/amd64/v3": "linux-amd64v3", "linux/amd64/v1": "linux-amd64",
	} {
		recipe := templates.Recipe{Platforms: []string{platform, "linux/s390x"}, Digests: []string{intel, arm}}
		lines, _ := images.Stages(recipe, func(digest, _ string) string { return "node@" + digest })
		first, _, _ := strings.Cut(lines, "\n")
		same(t, platform, first, "FROM node@"+intel+" AS toa-base-"+want)
	}
}

// What cannot be written whole is not there at all.
func TestContextsThatFailLeaveNothing(t *testing.T) {
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errStopped)
	changed := layered(t)
	files{"index.js": "changed since"}.write(t, changed[1].Sources[0].Dir)
	for name, test := range map[string]struct {
		ctx   context.Context
		steps []orchestrator.Step
		want  func(error) bool
	}{
		"stopped": {stopped, layered(t), func(err error) bool { return errors.Is(err, errStopped) }},
		"changed": {t.Context(), changed, func(err error) bool {
			var moved *cache.ChangedError
			return errors.As(err, &moved) && moved.Path == "index.js" && strings.Contains(err.Error(), "build context of composition/edge")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			missing, empty := filepath.Join(t.TempDir(), "missing"), t.TempDir()
			for _, dir := range []string{missing, empty} {
				if err := images.WriteContexts(test.ctx, dir, test.steps); !test.want(err) {
					t.Errorf("WriteContexts: error %v", err)
				}
			}
			if _, err := os.Lstat(missing); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a directory is left: %v", err)
			}
			if left := listing(t, empty); left != "" {
				t.Errorf("left behind:\n%s", left)
			}
		})
	}
}

var errStopped = errors.New("stopped")
