package bazel_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ergonomics is what users of other rules complain about: each is right here.
func (b *bazel) ergonomics(t *testing.T) {
	t.Run("one run has all images", func(t *testing.T) {
		r := b.must(t, "run", "//:library.plan")
		wants(t, r.stdout, "composition/lending", "composition/desk-letters", "plan: 2 images")
	})
	t.Run("arguments override attributes", func(t *testing.T) {
		r := b.must(t, "run", "//:library.plan", "--", "elsewhere", "--registry", "registry.example.com/team", "--output", "json")
		wants(t, r.stdout, `"registry.example.com/team/library/composition-lending:`)
	})
	t.Run("exit codes pass", func(t *testing.T) {
		if r := b.run(t, b.workspace, "run", "//:library.plan", "--", "--check", "--registry", "registry.example.com"); r.code != 3 {
			t.Errorf("exit code %d, want 3\n%s", r.code, r.stderr)
		}
	})
	t.Run("files are where one types", func(t *testing.T) {
		dir := filepath.Join(b.workspace, "components")
		if r := b.run(t, dir, "run", "//:library.plan", "--", "--out", "plan.json"); r.code != 0 {
			t.Fatal(r.stderr)
		}
		must(t, os.Remove(filepath.Join(dir, "plan.json")))
	})
	t.Run("is called from elsewhere", func(t *testing.T) { b.direct(t) })
	t.Run("needs no home", func(t *testing.T) {
		wants(t, b.launch(t, []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}, b.bin("library.plan")).stdout, "plan: 2 images")
	})
	t.Run("finds runfiles in a manifest", func(t *testing.T) { b.manifest(t) })
	t.Run("writes nothing into the workspace", func(t *testing.T) { b.readOnly(t) })
	t.Run("is interrupted", func(t *testing.T) { b.interrupted(t) })
	t.Run("finds credentials", func(t *testing.T) { b.credentials(t) })
}

// launch calls what `bazel run` would, in a directory that has nothing to do with it.
func (b *bazel) launch(t *testing.T, env []string, args ...string) result {
	t.Helper()
	command := exec.Command(args[0], args[1:]...)
	command.Dir, command.Env = t.TempDir(), env
	return execute(t, command)
}

func (b *bazel) direct(t *testing.T) {
	link := filepath.Join(t.TempDir(), "plan")
	must(t, os.Symlink(b.bin("library.plan"), link))
	misled := append(slices.Clone(b.env), "RUNFILES_DIR=/nowhere", "RUNFILES_MANIFEST_FILE=/nowhere")
	for name, r := range map[string]result{
		"by its path":               b.launch(t, b.env, b.bin("library.plan")),
		"by a link":                 b.launch(t, b.env, link),
		"with another's runfiles":   b.launch(t, misled, b.bin("library.plan")),
		"from the runfiles of both": b.launch(t, b.env, b.bin("library.plan.runfiles/library/library.plan")),
	} {
		if r.code != 0 || !strings.Contains(r.stdout, "plan: 2 images") {
			t.Errorf("called %s: exit code %d\n%s%s", name, r.code, r.stdout, r.stderr)
		}
	}
}

// manifest calls a launcher that has a list of its runfiles and no directory.
func (b *bazel) manifest(t *testing.T) {
	alone := filepath.Join(t.TempDir(), "plan")
	writeFiles(t, filepath.Dir(alone), map[string]string{"plan": read(t, b.bin("library.plan"))})
	must(t, os.Chmod(alone, 0o755))
	r := b.launch(t, b.env, alone)
	if r.code != 2 {
		t.Errorf("without runfiles: exit code %d, want 2", r.code)
	}
	wants(t, r.stderr, "no runfiles of")

	env := append(slices.Clone(b.env), "RUNFILES_MANIFEST_FILE="+b.bin("library.plan.runfiles/MANIFEST"))
	wants(t, b.launch(t, env, alone).stdout, "plan: 2 images")
}

func (b *bazel) readOnly(t *testing.T) {
	lines := `mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"`
	command := exec.Command("unshare", "--mount", "sh", "-c", lines, "sh", b.workspace, "true")
	if out, err := command.CombinedOutput(); err != nil {
		t.Skipf("nothing can be mounted here: %v: %s", err, out)
	}
	wants(t, b.launch(t, b.env, "unshare", "--mount", "sh", "-c", lines, "sh", b.workspace, b.bin("library.push")).stdout,
		"composition/lending library/composition-lending:")
}

// interrupted stops a run that waits, with the signal that a terminal sends.
func (b *bazel) interrupted(t *testing.T) {
	b.must(t, "run", "//:library.plan")
	locks, err := filepath.Glob(filepath.Join(b.cache(), "staged", "*.lock"))
	if err != nil || len(locks) != 1 {
		t.Fatalf("locks of staged workspaces: %q, %v", locks, err)
	}
	lock, err := os.OpenFile(locks[0], os.O_RDWR, 0)
	must(t, err)
	defer lock.Close()
	must(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))

	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	command := b.command(ctx, b.workspace, "run", "//:library.plan")
	stderr, err := command.StderrPipe()
	must(t, err)
	must(t, command.Start())
	said := waitFor(t, stderr, "waiting for another process")
	must(t, command.Process.Signal(syscall.SIGINT))
	rest, _ := io.ReadAll(said)
	_ = command.Wait()
	if code := command.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	wants(t, string(rest), "toa: stopped by interrupt")
}

func (b *bazel) cache() string {
	for _, variable := range b.env {
		if dir, ok := strings.CutPrefix(variable, "TOA_CACHE_DIR="); ok {
			return dir
		}
	}
	return ""
}

// waitFor reads to a line that has the text, and returns what follows.
func waitFor(t *testing.T, from io.Reader, text string) io.Reader {
	t.Helper()
	reader := bufio.NewReader(from)
	var before strings.Builder
	for {
		line, err := reader.ReadString('\n')
		before.WriteString(line)
		if strings.Contains(line, text) {
			return reader
		}
		if err != nil {
			t.Fatalf("%v before %q came:\n%s", err, text, before.String())
		}
	}
}

// credentials are those of the user's Docker configuration.
func (b *bazel) credentials(t *testing.T) {
	asked := make(chan string, 1)
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, ok := r.BasicAuth(); ok {
			select {
			case asked <- name + ":" + password:
			default:
			}
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="here"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer registry.Close()
	host := strings.TrimPrefix(registry.URL, "http://")
	config := t.TempDir()
	writeFiles(t, config, map[string]string{"config.json": `{"auths": {"` + host + `": {"username": "me", "password": "secret"}}}`})

	with := *b
	with.env = append(slices.Clone(b.env), "DOCKER_CONFIG="+config)
	if r := with.run(t, b.workspace, "run", "//:library.push", "--", "--registry", host); r.code != 1 {
		t.Errorf("exit code %d of a push that is refused, want 1\n%s", r.code, r.stderr)
	}
	select {
	case got := <-asked:
		if got != "me:secret" {
			t.Errorf("the registry was told %q", got)
		}
	default:
		t.Error("the registry was told no credentials")
	}
}
