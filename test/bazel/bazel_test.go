// Package bazel_test runs the rules in //bazel on a real Bazel: Debian's 4.2, the
// oldest one that they are for. It has no network: what Bazel would fetch for its
// own toolchains stands here as a stub.
package bazel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what the example has of its own references anew")

const (
	bazelCommand = "/usr/bin/bazel-4"
	repository   = "../.."
	// debian is where the packages bazel-platforms and bazel-rules-* install to.
	debian = "/usr/share/bazel"
)

var binaries string // the directory that holds toa

func TestMain(m *testing.M) {
	os.Exit(func() int {
		flag.Parse()
		dir, err := os.MkdirTemp("", "toa-bazel-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir) //nolint:errcheck // it is in the temporary directory
		binaries = dir
		return m.Run()
	}())
}

// toa builds the command once.
var toa = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaries, "toa")
	out, err := exec.Command("go", "build", "-o", path, repository+"/cmd/toa").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build toa: %w\n%s", err, out)
	}
	return path, nil
})

// bazel is one Bazel with an output base of its own, for one workspace.
type bazel struct {
	workspace, output string
	rc                string
	env               []string
	// offline has the server run in a network namespace that has no network.
	offline bool
}

// newBazel makes one that ends with the test.
func newBazel(t *testing.T, workspace string) *bazel {
	t.Helper()
	if _, err := os.Stat(bazelCommand); err != nil {
		t.Skipf("no Bazel 4.2: %v", err)
	}
	command, err := toa()
	must(t, err)
	dir := t.TempDir()
	b := &bazel{
		workspace: workspace,
		output:    filepath.Join(dir, "output"),
		rc:        filepath.Join(dir, "bazelrc"),
		env: []string{
			"PATH=" + filepath.Dir(command) + ":" + os.Getenv("PATH"),
			"HOME=" + filepath.Join(dir, "home"),
			"USER=tester",
			"TOA_CACHE_DIR=" + filepath.Join(dir, "cache"),
		},
	}
	writeFiles(t, dir, map[string]string{
		"home/empty":         "",
		"rules_cc/WORKSPACE": "",
		"rules_cc/cc/BUILD":  "",
		"rules_cc/cc/defs.bzl": `
cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
`,
		"coverage/WORKSPACE": "",
		"coverage/BUILD":     `filegroup(name = "coverage_report_generator", visibility = ["//visibility:public"])`,
		"bazelrc": `
build --override_repository=rules_cc=` + dir + `/rules_cc
build --override_repository=remote_coverage_tools=` + dir + `/coverage
build --override_repository=platforms=` + debian + `/platforms
build --override_repository=rules_java=` + debian + `/rules/java
build --override_repository=rules_proto=` + debian + `/rules/proto
build --nosandbox_debug --color=no --curses=no --jobs=2
`,
	})
	t.Cleanup(func() {
		b.run(t, workspace, "shutdown")
		// Bazel leaves directories that nobody may write.
		_ = filepath.WalkDir(b.output, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	return b
}

// result is how a command ended.
type result struct {
	stdout, stderr string
	code           int
}

// command is a call of Bazel in a directory of the workspace.
func (b *bazel) command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	startup := []string{
		"--output_base=" + b.output, "--host_jvm_args=-Xmx512m", "--max_idle_secs=600",
		"--noworkspace_rc", "--nohome_rc", "--bazelrc=" + b.rc,
	}
	line := slices.Concat([]string{bazelCommand}, startup, args)
	if b.offline {
		line = append([]string{"unshare", "--net", "sh", "-c", `ip link set lo up && exec "$@"`, "sh"}, line...)
	}
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Dir, command.Env = dir, b.env
	return command
}

func (b *bazel) run(t *testing.T, dir string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return execute(t, b.command(ctx, dir, args...))
}

// must runs Bazel in the workspace and fails the test where that fails.
func (b *bazel) must(t *testing.T, args ...string) result {
	t.Helper()
	r := b.run(t, b.workspace, args...)
	if r.code != 0 {
		t.Fatalf("bazel %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return r
}

// bin is the path of something that was built.
func (b *bazel) bin(name string) string { return filepath.Join(b.workspace, "bazel-bin", name) }

// executed builds targets and says what actions made, by path below bazel-bin.
func (b *bazel) executed(t *testing.T, args ...string) []string {
	t.Helper()
	log := filepath.Join(t.TempDir(), "actions.json")
	b.must(t, append(args, "--execution_log_json_file="+log)...)
	file, err := os.Open(log)
	must(t, err)
	defer file.Close()
	made := []string{}
	for decoder := json.NewDecoder(file); ; {
		var action struct{ ListedOutputs []string }
		err := decoder.Decode(&action)
		if errors.Is(err, io.EOF) {
			slices.Sort(made)
			return made
		}
		must(t, err)
		for _, path := range action.ListedOutputs {
			_, name, _ := strings.Cut(path, "/bin/")
			made = append(made, name)
		}
	}
}

func execute(t *testing.T, command *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", command, err)
	}
	return result{stdout.String(), stderr.String(), command.ProcessState.ExitCode()}
}

// plain runs toa itself in a directory.
func (b *bazel) plain(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.Command(filepath.Join(binaries, "toa"), args...)
	command.Dir, command.Env = dir, b.env
	r := execute(t, command)
	if r.code != 0 {
		t.Fatalf("toa %s: exit code %d\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r.stdout
}

// clone copies what the example needs of the repository, and returns its directory.
func clone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, path := range []string{"WORKSPACE", "bazel", "examples/bazel"} {
		copyTree(t, filepath.Join(repository, path), filepath.Join(dir, path))
	}
	return filepath.Join(dir, "examples", "bazel")
}

// copyTree copies files with their modes, and links as links. What Bazel has left
// in a workspace is left out.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	must(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || strings.HasPrefix(rel, "bazel-") {
			return err
		}
		target := filepath.Join(to, rel)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case info.Mode()&fs.ModeSymlink != 0:
			leads, err := os.Readlink(path)
			return errors.Join(err, os.Symlink(leads, target))
		default:
			data, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(target, data, info.Mode().Perm()))
		}
	}))
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for path, text := range files {
		path = filepath.Join(dir, path)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wants fails where a text lacks something.
func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("got\n%s\nwant it to have %q", text, part)
		}
	}
}
