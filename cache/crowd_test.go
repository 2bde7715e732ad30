package cache_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"toa.io/toa/cache"
)

// A hundred and twenty-eight processes use one index at once: each row is there
// afterwards, nobody crashes, reads anything wrong or waits for long.
// nrwl/nx#28608
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
	waits, _ := os.ReadDir(path + ".spool")
	t.Logf("%d rows wait beside the file", len(waits)) // how many is a matter of the disk
	for _, when := range []string{"at once", "merged"} {
		x := cache.NewIndex(cache.OpenDB(path, func(w string) { t.Error("warning:", w) }))
		for n := range processes {
			if !has(x, n) {
				t.Errorf("%s: the row of process %d is lost: it says %q", when, n, &outputs[n])
			}
		}
		put(t, x, processes)
	}
	if waits, err := os.ReadDir(path + ".spool"); len(waits) > 0 {
		t.Errorf("%d rows are left beside the file, %v", len(waits), err)
	}
}

// crowd is one of many: it puts a row and reads those of others.
func crowd(args []string) error {
	path := args[0]
	mine, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	began := time.Now()
	x := cache.NewIndex(cache.OpenDB(path, nil))
	for n := range 128 {
		if entry, err := x.Get(host, repo, keyOf(n)); err == nil && entry.Digest != digestOf(n) {
			return fmt.Errorf("row %d is %s", n, entry.Digest)
		}
	}
	entry := cache.Entry{Digest: digestOf(mine), VerifiedAt: time.Now()}
	if err := x.Put(host, repo, keyOf(mine), entry, fmt.Sprint("composition/", mine), nil); err != nil {
		return err
	}
	// The promise is two seconds; a hundred processes on two cores wait for those
	// too, and for a disk that others keep busy.
	if took := time.Since(began); took > time.Minute {
		return fmt.Errorf("took %s", took)
	}
	return nil
}

// A process that was stopped while it had the file locked keeps nobody waiting:
// what it holds is not known, and what is put meanwhile is kept beside it.
// numtide/treefmt#408, aquasecurity/trivy-db#559
func TestStoppedProcessKeepsNobodyWaiting(t *testing.T) {
	cache.Promptly(t, func() time.Duration { return besideStopped(t) })
}

// besideStopped works with an index that a stopped process has locked, and
// returns how long that took.
func besideStopped(t *testing.T) time.Duration {
	t.Helper()
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
	put(t, x, 2)
	put(t, x, 3)
	x.Forget(host, repo, keyOf(3))
	if _, err := x.Prune(cache.Keep{Count: 1}, time.Now()); err == nil {
		t.Error("Prune says that it has pruned")
	}
	took := time.Since(began)
	if len(warnings) != 1 || !strings.Contains(warnings[0], path) {
		t.Fatalf("warnings: %q", warnings)
	}
	if _, err := os.Stat("/proc/locks"); err == nil && !strings.Contains(warnings[0], fmt.Sprint("process ", holder.Pid)) {
		t.Errorf("warning %q does not name process %d", warnings[0], holder.Pid)
	}
	meanwhile := cache.NewIndex(cache.OpenDB(path, nil))
	if !has(meanwhile, 2) || has(meanwhile, 3) || has(meanwhile, 1) {
		t.Errorf("meanwhile others know 1: %t, 2: %t, 3: %t", has(meanwhile, 1), has(meanwhile, 2), has(meanwhile, 3))
	}
	must(t, holder.Signal(syscall.SIGCONT), holder.Kill())
	_, _ = holder.Wait()
	after := cache.NewIndex(cache.OpenDB(path, func(w string) { t.Error("warning:", w) }))
	if !has(after, 1) || !has(after, 2) || has(after, 3) {
		t.Errorf("afterwards others know 1: %t, 2: %t, 3: %t", has(after, 1), has(after, 2), has(after, 3))
	}
	return took
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

// Whenever a process is killed while it merges what waits beside the file, all
// of it is there.
func TestKilledWhileMerging(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db", "index.db")
	writer := cache.NewIndex(cache.OpenDB(path, func(w string) { t.Error("warning:", w) }))
	put(t, writer, 0)
	rounds, rows := 20, 5
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		held, err := os.Open(path)
		must(t, err, syscall.Flock(int(held.Fd()), syscall.LOCK_EX))
		for n := range rows {
			put(t, writer, round*rows+n)
		}
		must(t, held.Close())
		merging := helper(t, "merge", path)
		timer := time.NewTimer(time.Duration(round) * time.Millisecond / 2)
		<-timer.C // another moment of its work each time
		must(t, merging.Kill())
		_, _ = merging.Wait()
	}
	left := cache.NewIndex(cache.OpenDB(path, func(w string) { t.Error("warning:", w) }))
	for n := range rounds * rows {
		if !has(left, n) {
			t.Errorf("row %d is lost", n)
		}
	}
}

// Whenever a process is killed while it makes the file, there is none or a whole
// one: bbolt says of itself that it may leave less. etcd-io/etcd#16596
func TestKilledWhileCreating(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		path := filepath.Join(t.TempDir(), "db", "index.db")
		creating := helper(t, "merge", path)
		timer := time.NewTimer(time.Duration(round) * time.Millisecond / 2)
		<-timer.C // another moment of its work each time
		must(t, creating.Kill())
		_, _ = creating.Wait()
		x := cache.NewIndex(cache.OpenDB(path, func(w string) { t.Error("warning:", w) }))
		put(t, x, 1)
		if _, err := x.Prune(cache.Keep{}, time.Now().Add(48*time.Hour)); err != nil || !has(x, 1) {
			t.Errorf("Prune: %v; the row is there: %t", err, has(x, 1))
		}
		if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
			t.Errorf("left beside it: %v, %v", left, err)
		}
	}
}

// merge puts a row into an index, and so what waits beside it.
func merge(args []string) error {
	fmt.Println("ready")
	x := cache.NewIndex(cache.OpenDB(args[0], nil))
	return x.Put(host, repo, keyOf(0), cache.Entry{Digest: digestOf(0)}, "composition/edge", nil)
}

// However soon the disk is full, what is said to be kept is there, what was there
// stays, and nothing is wrong. No file may grow beyond a limit here, which every
// machine can be told.
func TestFullDiskLosesNothingThatWasKept(t *testing.T) {
	for _, limit := range []int{0, 1 << 10, 6 << 10, 20 << 10, 34 << 10, 70 << 10, 300 << 10} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "db", "index.db")
			for n := range 20 {
				put(t, cache.NewIndex(cache.OpenDB(path, nil)), n)
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], path, strconv.Itoa(limit))
			cmd.Env = append(os.Environ(), helperVariable+"=limited")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			kept, _ := strconv.Atoi(strings.TrimSpace(string(out)))
			x := cache.NewIndex(cache.OpenDB(path, func(w string) { t.Error("warning:", w) }))
			for n := range 20 + kept {
				if !has(x, n) {
					t.Errorf("row %d is not there; %d new ones are said to be kept", n, kept)
				}
			}
			put(t, x, 1000)
			t.Logf("%d of 50 were kept", kept)
		})
	}
}

// limited puts fifty rows, says how many were kept, and goes on without an
// index where one was refused.
func limited(args []string) error {
	limit, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	x := cache.NewIndex(cache.OpenDB(args[0], nil))
	kept := 0
	for n := 20; n < 70; n++ {
		inputs := []cache.Input{{Label: "n", Value: strings.Repeat("x", 2000)}}
		if x.Put(host, repo, keyOf(n), cache.Entry{Digest: digestOf(n)}, "composition/edge", inputs) == nil {
			kept++
		}
	}
	fmt.Println(kept)
	return nil
}
