package cache_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"toa.io/toa/cache"
)

func TestClaimsLetOneAtATime(t *testing.T) {
	claims := cache.Claims{Dir: filepath.Join(t.TempDir(), "claims")}
	var wait sync.WaitGroup
	var inside, most atomic.Int64
	for range 20 {
		wait.Go(func() {
			release, _, err := claims.Take(t.Context(), keyOf(1), func(string) {})
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			if n := inside.Add(1); n > most.Load() {
				most.Store(n)
			}
			inside.Add(-1)
		})
	}
	wait.Wait()
	if most.Load() != 1 {
		t.Errorf("%d at a time", most.Load())
	}
	if left, err := os.ReadDir(claims.Dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestClaimsOfOtherNamesDoNotWait(t *testing.T) {
	claims := cache.Claims{Dir: t.TempDir()}
	for n := range 3 {
		release, waited, err := claims.Take(t.Context(), keyOf(n), nil)
		if must(t, err); waited {
			t.Error("waited")
		}
		t.Cleanup(release)
	}
}

func TestClaimCanBeGivenUpWaitingFor(t *testing.T) {
	claims := cache.Claims{Dir: t.TempDir()}
	release, _, err := claims.Take(t.Context(), keyOf(1), nil)
	must(t, err)
	defer release()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("stopped")
	if _, _, err := claims.Take(ctx, keyOf(1), func(string) { cancel(why) }); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestClaimsThatCannotBeHadDoNotStop(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	release, waited, err := cache.Claims{Dir: file}.Take(t.Context(), keyOf(1), nil)
	if must(t, err); waited {
		t.Error("waited")
	}
	release()
}

// A holder that dies holds nothing; one that is stopped, nobody for long; one
// that is at work, for as long as it takes.
func TestClaimsOfOtherProcesses(t *testing.T) {
	tests := map[string]struct {
		signal syscall.Signal
		says   []string
	}{
		"killed":  {syscall.SIGKILL, []string{"waiting"}},
		"stopped": {syscall.SIGSTOP, []string{"waiting", "not waiting any more"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			claims := cache.Claims{Dir: filepath.Join(t.TempDir(), "claims"), Patience: 3 * time.Second}
			holder := claimElsewhere(t, claims.Dir)
			var said []string
			release, waited, err := claims.Take(t.Context(), keyOf(1), func(text string) {
				if said = append(said, text); len(said) == 1 {
					must(t, holder.Signal(test.signal))
				}
			})
			must(t, err)
			release()
			if !waited || len(said) != len(test.says) {
				t.Fatalf("said %q", said)
			}
			for i, text := range said {
				if !strings.HasPrefix(text, fmt.Sprintf("process %d ", holder.Pid)) || !strings.HasSuffix(text, test.says[i]) {
					t.Errorf("said %q, want process %d and %q", text, holder.Pid, test.says[i])
				}
			}
		})
	}
}

// claimElsewhere has another process claim keyOf(1), and returns when it has.
func claimElsewhere(t *testing.T, dir string) *os.Process {
	t.Helper()
	return helper(t, "claim", dir)
}

// helper runs this test program as another process that does one thing, and
// returns when it says that it has. It ends with the test.
func helper(t *testing.T, what string, args ...string) *os.Process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), helperVariable+"="+what)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = in.Close()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("helper %s says %q, %v", what, line, err)
	}
	return cmd.Process
}

const helperVariable = "TOA_TEST_HELPER"

// helpers are what this program does when it runs as another process.
var helpers = map[string]func(args []string) error{
	"crowd":   crowd,
	"lock":    lockFile,
	"prune":   pruneAlways,
	"merge":   merge,
	"limited": limited,
	"claim": func(args []string) error {
		release, _, err := cache.Claims{Dir: args[0]}.Take(context.Background(), keyOf(1), func(string) {})
		if err != nil {
			return err
		}
		defer release()
		return untilTold()
	},
}

// untilTold says that it is ready and waits until its parent ends it.
func untilTold() error {
	fmt.Println("ready")
	_, err := bufio.NewReader(os.Stdin).ReadByte()
	return err
}

func TestMain(m *testing.M) {
	what := os.Getenv(helperVariable)
	if what == "" {
		os.Exit(m.Run())
	}
	if err := helpers[what](os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
