//go:build failpoint

package images_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/internal/failpoint"
	"toa.io/toa/orchestrator"
)

// movingVariable makes this program another process, that moves the tag of an
// environment: "reference cache-directory".
const movingVariable = "TOA_TEST_MOVING"

func init() {
	reference, dir, moving := strings.Cut(os.Getenv(movingVariable), " ")
	if !moving {
		return
	}
	if err := move(reference, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func move(reference, dir string) error {
	blobs, err := cache.OpenBlobs(dir)
	if err != nil {
		return err
	}
	repository, digest, _ := strings.Cut(reference, "@")
	remote := &images.Remote{Blobs: blobs, Client: &images.Client{Keychain: anonymous{}}}
	return remote.Tag(context.Background(), orchestrator.Reference{Repository: repository, Digest: digest}, "production")
}

// Whatever happens while an environment's tag moves, it names the image of before
// or the one that it moves to, and the next run moves it.
func TestStruckWhileATagMoves(t *testing.T) {
	reg := newRegistry(t)
	dir := t.TempDir()
	b := newBench(t, dir)
	repository := reg.host + "/shop/composition-edge"
	count := 0
	publish := func() string {
		count++
		s := step(t, repository, fmt.Sprint("t", count), map[string]string{"a": files{"index.js": fmt.Sprint(count)}.write(t, t.TempDir())})
		return b.publish(t, b.remote, s, b.build(t, s))
	}
	before := publish()
	struck(t, repository+"@"+before, dir, "")
	for _, point := range []failpoint.Name{
		failpoint.TagMove, failpoint.ManifestPut, failpoint.ManifestStored, failpoint.ManifestVerified, failpoint.TagMoved,
	} {
		for _, fault := range []string{"error", "panic", "kill"} {
			t.Run(string(point)+"="+fault, func(t *testing.T) {
				next := publish()
				status, log := struck(t, repository+"@"+next, dir, string(point)+"="+fault)
				if killed := status.Signaled() && status.Signal() == syscall.SIGKILL; killed != (fault == "kill") || !killed && status.ExitStatus() == 0 {
					t.Errorf("it ended with %v, want what it was told:\n%s", status, log)
				}
				if named := digestAt(t, reg, repository+":production"); named != next && named != before {
					t.Errorf("the tag names %s, want %s or %s", named, before, next)
				}
				if status, log := struck(t, repository+"@"+next, dir, ""); status.ExitStatus() != 0 {
					t.Errorf("the next run: %v\n%s", status, log)
				}
				if named := digestAt(t, reg, repository+":production"); named != next {
					t.Errorf("after the next run the tag names %s, want %s", named, next)
				}
				before = next
			})
		}
	}
}

func digestAt(t *testing.T, reg *registry, reference string) string {
	t.Helper()
	digest, err := reg.pull(t, reference).Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

// struck moves the tag in another process, which comes by all points of it unless
// it is told to fail at one.
func struck(t *testing.T, reference, dir, script string) (syscall.WaitStatus, string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "trace")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), movingVariable+"="+reference+" "+dir, failpoint.Variable+"="+script, failpoint.TraceVariable+"="+log)
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	trace, _ := os.ReadFile(log) // there is none where the tag stands
	if lines := strings.Fields(string(trace)); script != "" && !slices.Contains(lines, strings.Split(script, "=")[0]) {
		t.Errorf("it does not come by %s: %q", script, lines)
	}
	return cmd.ProcessState.Sys().(syscall.WaitStatus), string(said)
}
