package cache_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"toa.io/toa/cache"
)

// A hundred and twenty-eight processes use one index at once. None crashes,
// reads anything wrong, or waits for long; who could not have the file in time
// says so and goes on; whatever was taken is there afterwards.
func TestManyProcessesShareAnIndex(t *testing.T) {
	processes := 128
	if testing.Short() {
		processes = 16
	}
	path := filepath.Join(t.TempDir(), "db", "index.db")
	outputs := make([]bytes.Buffer, processes)
	var wait sync.WaitGroup
	for n := range processes {
		wait.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], path, strconv.Itoa(n))
			cmd.Env = append(os.Environ(), helperVariable+"=crowd")
			cmd.Stdout, cmd.Stderr = &outputs[n], &outputs[n]
			if err := cmd.Run(); err != nil {
				t.Errorf("process %d: %v\n%s", n, err, &outputs[n])
			}
		})
	}
	wait.Wait()
	x := cache.NewIndex(cache.OpenDB(path, func(w string) { t.Error("warning:", w) }))
	refused := 0
	for n := range processes {
		switch said := outputs[n].String(); {
		case strings.Contains(said, "refused") && strings.Contains(said, path):
			refused++
		case !strings.HasPrefix(said, "kept"):
			t.Errorf("process %d says %q", n, said)
		case !has(x, n):
			t.Errorf("the row of process %d is lost", n)
		}
	}
	t.Logf("%d of %d went on without", refused, processes) // how many is a matter of the disk
	if refused == processes {
		t.Error("nobody could have it")
	}
}

// crowd is one of many: it puts a row and reads those of others.
func crowd(args []string) error {
	path := args[0]
	mine, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	warning := "no warning"
	began := time.Now()
	x := cache.NewIndex(cache.OpenDB(path, func(w string) { warning = w }))
	for n := range 128 {
		if entry, err := x.Get(host, repo, keyOf(n)); err == nil && entry.Digest != digestOf(n) {
			return fmt.Errorf("row %d is %s", n, entry.Digest)
		}
	}
	entry := cache.Entry{Digest: digestOf(mine), VerifiedAt: time.Now()}
	outcome := "kept"
	if x.Put(host, repo, keyOf(mine), entry, fmt.Sprint("composition/", mine), nil) != nil {
		outcome = "refused: " + warning
	}
	// The promise is two seconds; a hundred processes on two cores wait for those too.
	if took := time.Since(began); took > 20*time.Second {
		return fmt.Errorf("took %s", took)
	}
	fmt.Println(outcome)
	return nil
}

// A process that was stopped while it had the file locked keeps nobody waiting.
func TestStoppedProcessKeepsNobodyWaiting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db", "index.db")
	put(t, cache.NewIndex(cache.OpenDB(path, nil)), 1)
	holder := helper(t, "lock", path)
	must(t, holder.Signal(syscall.SIGSTOP))
	var warnings []string
	began := time.Now()
	x := cache.NewIndex(cache.OpenDB(path, func(w string) { warnings = append(warnings, w) }))
	if _, err := x.Get(host, repo, keyOf(1)); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Get: %v", err)
	}
	if err := x.Put(host, repo, keyOf(2), cache.Entry{Digest: digestOf(2)}, "composition/edge", nil); err == nil {
		t.Error("Put says that it kept the row")
	}
	if _, err := x.Prune(cache.Keep{Count: 1}, time.Now()); err == nil {
		t.Error("Prune says that it has pruned")
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %s", took)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], path) {
		t.Fatalf("warnings: %q", warnings)
	}
	if _, err := os.Stat("/proc/locks"); err == nil && !strings.Contains(warnings[0], fmt.Sprint("process ", holder.Pid)) {
		t.Errorf("warning %q does not name process %d", warnings[0], holder.Pid)
	}
	must(t, holder.Signal(syscall.SIGCONT), holder.Kill())
}

// lockFile holds a file locked until it is told to end.
func lockFile(args []string) error {
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return untilTold()
}

// Whenever a process is killed while it prunes, the file is the old one or the
// new one, and nothing that is kept is lost.
func TestKilledWhilePruning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db", "index.db")
	x := cache.NewIndex(cache.OpenDB(path, nil))
	for n := range 20 {
		putAt(t, x, n, day(1000), fmt.Sprint("composition/", n))
	}
	kills := 30
	if testing.Short() {
		kills = 5
	}
	for round := range kills {
		pruning := helper(t, "prune", path)
		timer := time.NewTimer(time.Duration(round*2) * time.Millisecond)
		<-timer.C // another moment of its work each time
		must(t, pruning.Kill())
		_, _ = pruning.Wait()
	}
	left := cache.NewIndex(cache.OpenDB(path, func(w string) { t.Error("warning:", w) }))
	for n := range 20 {
		if !has(left, n) {
			t.Errorf("row %d is lost", n)
		}
	}
	if _, err := left.Prune(cache.Keep{Age: time.Hour}, time.Now().Add(48*time.Hour)); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left beside it: %v, %v", entries, err)
	}
}

// pruneAlways puts rows and drops them until it is killed.
func pruneAlways(args []string) error {
	x := cache.NewIndex(cache.OpenDB(args[0], nil))
	fmt.Println("ready")
	for n := 1000; ; n++ {
		entry := cache.Entry{Digest: digestOf(n), VerifiedAt: day(1)}
		if err := x.Put(host, repo, keyOf(n), entry, "composition/0", nil); err != nil {
			return err
		}
		if err := x.Put(host, repo, keyOf(0), cache.Entry{Digest: digestOf(0), VerifiedAt: day(1000)}, "composition/0", nil); err != nil {
			return err
		}
		if _, err := x.Prune(cache.Keep{Age: time.Hour}, day(1000)); err != nil {
			return err
		}
	}
}
