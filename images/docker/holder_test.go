package docker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/images/docker"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// holderVariable makes this program another process that boots docker's builder:
// with the docker command that it names.
const holderVariable = "TOA_TEST_HOLDER"

func TestMain(m *testing.M) {
	command := os.Getenv(holderVariable)
	if command == "" {
		os.Exit(m.Run())
	}
	if err := boot(command); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func boot(command string) error {
	blobs, err := cache.OpenBlobs(filepath.Join(filepath.Dir(command), "holder"))
	if err != nil {
		return err
	}
	b := &docker.Builder{Blobs: blobs, Docker: command}
	step := orchestrator.Step{ID: "composition/edge", Recipe: templates.Recipe{Base: templates.Scratch, Platforms: []string{"linux/amd64"}}}
	_, err = b.Build(context.Background(), step, nil)
	return err
}

// A process that was stopped while it boots docker's builder holds up nobody for
// long, and who waits says for whom.
func TestHolderThatIsStopped(t *testing.T) {
	// What the other process starts waits; what this one starts does not.
	b := newBench(t, `[ -n "$`+holderVariable+`" ] && { : > booting; until [ -e end ]; do sleep 0.05; done; exit 1; }`+engine)
	b.builder.Patience = 2 * time.Second
	s := composition(t, files{"a": "1"})
	want := b.archive(t, s)
	holder := b.holder(t)
	if err := holder.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}

	stuck := errors.New("it waits for a process that is stopped")
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, stuck)
	defer cancel()
	got, err := b.builder.Build(ctx, s, nil)
	if err != nil || got.Digest() != want.Digest() {
		t.Fatalf("Build: %v, %v", got, err)
	}
	notices := b.seen.notices()
	if len(notices) != 2 {
		t.Fatalf("notices: %q, want two", notices)
	}
	for i, end := range []string{"waiting", "not waiting any more"} {
		start := fmt.Sprintf("docker's builder toa: process %d has it in work", holder.Pid)
		if !strings.HasPrefix(notices[i], start) || !strings.HasSuffix(notices[i], end) {
			t.Errorf("notice %q, want %q … %q", notices[i], start, end)
		}
	}
	b.left(t)
}

// holder starts another process that boots docker's builder, and returns when it
// does. It ends with the test.
func (b *bench) holder(t *testing.T) *os.Process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holderVariable+"="+b.builder.Docker)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		files{"end": ""}.write(t, b.dir)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(b.dir, "booting")); err == nil {
			return cmd.Process
		}
	}
	t.Fatal("the other process did not begin in a minute")
	return nil
}
