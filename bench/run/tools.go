package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// tools are the programs that take part.
type tools struct{ bin, toa string }

// buildTools builds them into bin from the module in the working directory: toa
// as `make build` installs it.
func buildTools(ctx context.Context, bin, toa string) (tools, error) {
	packages := []string{"./bench/generate", "./bench/fleet", "./bench/hash", "./bench/openread", "./bench/registry", "./bench/rebuild", "./bench/remotewrite"}
	if toa == "" {
		toa = filepath.Join(bin, "toa")
		packages = append(packages, "./cmd/toa")
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return tools{}, fmt.Errorf("make directory: %w", err)
	}
	args := append([]string{"build", "-trimpath", "-tags", "slim", "-o", bin + string(filepath.Separator)}, packages...)
	build := exec.CommandContext(ctx, "go", args...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return tools{}, fmt.Errorf("build programs: %w\n%s", err, output)
	}
	toa, err := filepath.Abs(toa)
	return tools{bin, toa}, err
}

// command runs a program with nothing of the user's git settings.
func command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	return cmd
}

// our is one of our own programs.
func (t tools) our(ctx context.Context, name string, args ...string) *exec.Cmd {
	return command(ctx, "", filepath.Join(t.bin, name), args...)
}

// tree is what a workspace of a scenario is made of.
type tree struct {
	components, files, size int
	members                 int // of each composition; zero is generate's default
	commit                  bool
}

func (t tools) generate(ctx context.Context, dir string, of tree) error {
	members := cmp.Or(of.members, 4)
	cmd := t.our(ctx, "generate", "-members", strconv.Itoa(members), "-dir", workspaceIn(dir), "-list", listIn(dir), "-components", strconv.Itoa(of.components),
		"-files", strconv.Itoa(of.files), "-size", strconv.Itoa(of.size), "-commit="+strconv.FormatBool(of.commit))
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("generate workspace: %w\n%s", err, output)
	}
	return nil
}

// build is `toa graph build` of a workspace, without a release.
func (t tools) build(ctx context.Context, workspace, cache string, more ...string) *exec.Cmd {
	args := append([]string{"graph", "build", "-C", workspace, "--cache-dir", cache, "--release", "none"}, more...)
	return command(ctx, "", t.toa, args...)
}

// buildUnchanged builds twice and returns an error unless the second time
// found everything published and asked no registry.
func (t tools) buildUnchanged(ctx context.Context, workspace, cache string) error {
	var last summary
	for range 2 {
		var err error
		if last, err = summarise(t.build(ctx, workspace, cache, "--output", "json")); err != nil {
			return fmt.Errorf("build workspace: %w", err)
		}
	}
	if !last.OK || last.Images.Total == 0 || last.Images.Cached != last.Images.Total || last.RegistryRequests != 0 {
		return fmt.Errorf("an unchanged workspace is no no-op: %+v", last)
	}
	return nil
}

// summary is the last event of `toa graph build --output json`.
type summary struct {
	Event  string
	OK     bool
	Images struct{ Total, Cached int }

	RegistryRequests int
}

// summarise runs a build and keeps nothing but its summary: what this process
// holds in memory counts against the children that it starts.
func summarise(build *exec.Cmd) (summary, error) {
	var stderr tail
	build.Stderr = &stderr
	output, err := build.StdoutPipe()
	if err != nil {
		return summary{}, err
	}
	if err := build.Start(); err != nil {
		return summary{}, err
	}
	last, unread := lastEvent(output)
	if err := build.Wait(); err != nil {
		return summary{}, fmt.Errorf("%w\n%s", err, stderr)
	}
	return last, unread
}

func lastEvent(events io.Reader) (last summary, err error) {
	var event json.RawMessage
	for lines := json.NewDecoder(events); ; {
		if err := lines.Decode(&event); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			_, _ = io.Copy(io.Discard, events) // let the program end
			return summary{}, fmt.Errorf("read events: %w", err)
		}
	}
	if err := json.Unmarshal(event, &last); err != nil || last.Event != "summary" {
		return summary{}, errors.New("the last event is not the summary")
	}
	return last, nil
}
