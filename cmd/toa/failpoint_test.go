package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"toa.io/toa/internal/failpoint"
)

// failpoints is a slim binary with failpoints in it, beside the other one. It is
// not race detected: a thousand of its processes are started, and others look
// for races.
var failpoints = sync.OnceValues(func() (path string, err error) {
	dir, err := slim()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "toa-failpoint")
	build := exec.Command("go", "build", "-trimpath", "-tags", "slim,failpoint", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// An ordinary binary cannot be told to fail.
func TestOrdinaryBinariesHaveNoFailpoints(t *testing.T) {
	installed, err := slim()
	if err != nil {
		t.Fatal(err)
	}
	armed, err := failpoints()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{filepath.Join(installed, "toa"): false, armed: true} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(data, []byte("TOA_FAILPOINTS")); got != want {
			t.Errorf("%s has failpoints: %t, want %t", path, got, want)
		}
	}
}

// What a point is told to do.
const (
	strikeError = "error"
	strikePanic = "panic"
	strikeKill  = "kill"
	strikeEdit  = "wait" // while both images are changed
)

// strike is a fault at the nth time that a run comes by a point.
type strike struct {
	point failpoint.Name
	fault string
	nth   int
}

func (s strike) String() string { return fmt.Sprintf("%s=%s@%d", s.point, s.fault, s.nth) }

// dispensable are the points of what a run can do without: an error there costs
// time, later.
var dispensable = []failpoint.Name{
	failpoint.DatabaseLink, failpoint.IndexCommit, failpoint.IndexWritten, failpoint.IndexCommitted, failpoint.ClaimRelease,
	failpoint.SpoolRename, failpoint.SpoolRenamed, failpoint.SpoolMerged,
	failpoint.SharedPut, failpoint.SharedStored, failpoint.DatabaseRename, failpoint.DatabaseRenamed,
	failpoint.StampsSave, failpoint.StampsSaved,
}

// guarded are the points at which a database is open: a panic there is taken for
// damage of it, and it is set aside.
var guarded = []failpoint.Name{failpoint.IndexWritten, failpoint.SpoolMerged, failpoint.DatabaseRename, failpoint.DatabaseRenamed}

// canRefuseLocks says that the kernel can be asked to lock no file.
const canRefuseLocks = runtime.GOOS == "linux"

// Points that not every run comes by.
var (
	spoolPoints   = []failpoint.Name{failpoint.SpoolRename, failpoint.SpoolRenamed, failpoint.SpoolMerged}
	prunePoints   = []failpoint.Name{failpoint.DatabaseRename, failpoint.DatabaseRenamed}
	layoutPoints  = []failpoint.Name{failpoint.LayoutRename, failpoint.LayoutRenamed}
	packagePoints = []failpoint.Name{failpoint.PackagesInstalled}
	// Those of a release in a cluster are struck where there is one (release/cluster),
	// and those of the tag that follows it in images.
	clusterPoints = []failpoint.Name{
		failpoint.LeaseTaken, failpoint.RecordCreate, failpoint.ObjectWrite, failpoint.RecordUpdate, failpoint.HelmApplied,
		failpoint.TagMove, failpoint.TagMoved,
	}
)

// points are those that a site's runs are struck at: of one with a registry all
// that it comes by, of others what differs.
func (s *pointSite) points() []failpoint.Name {
	switch s.kind {
	case siteLayout:
		return append([]failpoint.Name{failpoint.ImagePublished, failpoint.IndexCommit}, layoutPoints...)
	case sitePackages:
		return append([]failpoint.Name{failpoint.LayerPacked}, packagePoints...)
	default:
		others := slices.Concat(layoutPoints, packagePoints, clusterPoints)
		if !canRefuseLocks {
			others = append(others, spoolPoints...)
		}
		return slices.DeleteFunc(failpoint.All(), func(name failpoint.Name) bool { return slices.Contains(others, name) })
	}
}

// Whatever happens to a run at any of its steps, what it has recorded is so, and
// the next run makes up for it.
func TestFailpoints(t *testing.T) {
	t.Parallel()
	seeds := wanted(t, "TOA_TEST_SEEDS", 0)
	var group errgroup.Group
	for lane, kind := range pointLanes {
		if _, err := exec.LookPath("npm"); err != nil && kind == sitePackages {
			continue
		}
		s := newPointSite(t, kind)
		group.Go(func() error {
			t.Run(string(kind), func(t *testing.T) { s.strikeAll(t, lane, seeds) })
			return nil
		})
	}
	_ = group.Wait()
}

// pointLanes are the sites that are struck at a time: of those with a registry,
// which come first, each has a share of the strikes.
var pointLanes = []siteKind{siteRegistry, siteRegistry, siteRegistry, siteLayout, sitePackages}

const registryLanes = 3

// strikeAll strikes a lane's share of what can be struck: at the first time, and
// at as many others as there are seeds.
func (s *pointSite) strikeAll(t *testing.T, lane, seeds int) {
	hits := s.hits(t)
	var all []strike
	for _, point := range s.points() {
		if hits[point] == 0 {
			t.Fatalf("a run does not come by %s: %v", point, hits)
		}
		for _, fault := range []string{strikeError, strikePanic, strikeKill, strikeEdit} {
			all = append(all, strike{point, fault, 1})
			for range seeds {
				all = append(all, strike{point, fault, 1 + rand.N(hits[point])})
			}
		}
	}
	for i, one := range all {
		if s.local() || i%registryLanes == lane {
			t.Run(one.String(), func(t *testing.T) { s.strike(t, one) })
		}
	}
}

// hits is how often a run that builds all comes by each point, where nothing can
// be locked or after such a run.
func (s *pointSite) hits(t *testing.T) map[failpoint.Name]int {
	t.Helper()
	hits := map[failpoint.Name]int{}
	s.outgrow(t)
	for _, locks := range []bool{s.local() || !canRefuseLocks, true} {
		s.renew(t)
		s.due(t)
		cmd, out, log := s.build(t)
		s.arm(t, cmd, "")
		if !locks {
			lockless(t, cmd)
		}
		s.succeeded(t, ended{cmd.Run(), cmd, out.String(), log.String()})
		for name, n := range s.trace(t) {
			hits[name] = max(hits[name], n)
		}
	}
	return hits
}

// lockless makes a process one that can lock no file. Layouts need locks.
func lockless(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	path, err := exec.LookPath("nolocks")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path, cmd.Args = path, append([]string{"nolocks", cmd.Path}, cmd.Args[1:]...)
}

// strike makes a run fail and looks at what it leaves; then at a run that makes
// up for it, and at one that finds nothing to do.
func (s *pointSite) strike(t *testing.T, how strike) {
	s.prepare(t, how.point)
	run := s.struck(t, how)
	if s.trace(t)[how.point] < how.nth {
		s.succeeded(t, run) // rows that come together cost one commit, so it was come by less often
	} else {
		s.wantEnd(t, how, run)
	}
	s.wantTruth(t)

	s.age(t)
	s.succeeded(t, s.run(t))
	s.wantTruth(t)

	before := len(s.proxy.Requests(""))
	last := s.run(t)
	s.succeeded(t, last)
	if sent := len(s.proxy.Requests("")) - before; sent > 0 || !strings.Contains(last.log, fmt.Sprintf("done: %d cached", s.images())) {
		t.Errorf("a run after all is made up for sends %d requests, want none and that all is cached:\n%s", sent, last.log)
	}
	s.wantClean(t)
	if t.Failed() {
		t.Logf("the run that was struck said:\n%s%s", run.out, run.log)
	}
}

// prepare makes something to do, and a state in which it comes by a point.
func (s *pointSite) prepare(t *testing.T, point failpoint.Name) {
	t.Helper()
	if point == failpoint.DatabaseLink {
		if err := os.RemoveAll(filepath.Join(s.cache(), "db")); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Contains(prunePoints, point) {
		s.outgrow(t)
		s.due(t)
	}
	if point == failpoint.SpoolMerged {
		s.renew(t)
		cmd, out, log := s.build(t)
		lockless(t, cmd)
		s.succeeded(t, ended{cmd.Run(), cmd, out.String(), log.String()})
	}
	s.renew(t)
}

// ended is a process that has ended.
type ended struct {
	err      error
	cmd      *exec.Cmd
	out, log string
}

// process is one of the binary with failpoints.
func (s *pointSite) process(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, out, log *bytes.Buffer) {
	t.Helper()
	path, err := failpoints()
	if err != nil {
		t.Fatal(err)
	}
	cmd, out, log = process(t, dir, args...)
	cmd.Path = path
	return cmd, out, log
}

// build is a process that builds both images and packs a chart.
func (s *pointSite) build(t *testing.T) (cmd *exec.Cmd, out, log *bytes.Buffer) {
	t.Helper()
	return s.process(t, s.dir, "graph", "build", "-C", s.shop())
}

// run builds and ends.
func (s *pointSite) run(t *testing.T) ended {
	t.Helper()
	cmd, out, log := s.build(t)
	return ended{cmd.Run(), cmd, out.String(), log.String()}
}

// arm tells a process where to fail.
func (s *pointSite) arm(t *testing.T, cmd *exec.Cmd, script string) {
	t.Helper()
	if err := os.RemoveAll(s.tracing()); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "TOA_FAILPOINTS="+script, "TOA_FAILPOINTS_TRACE="+s.tracing())
}

// struck runs what is to fail.
func (s *pointSite) struck(t *testing.T, how strike) ended {
	t.Helper()
	script, open := how.String(), filepath.Join(s.dir, "open")
	if how.fault == strikeEdit {
		script = fmt.Sprintf("%s=wait:%s@%d", how.point, open, how.nth)
	}
	cmd, out, log := s.build(t)
	s.arm(t, cmd, script)
	if how.point == failpoint.SpoolRename || how.point == failpoint.SpoolRenamed {
		lockless(t, cmd)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	finished := make(chan error, 1)
	go func() { finished <- cmd.Wait() }()
	if how.fault == strikeEdit {
		s.await(t, how, finished)
		s.edit(t)
		s.learn(t)
		writeFiles(t, s.dir, map[string]string{"open": ""})
		defer func() { _ = os.Remove(open) }()
	}
	return ended{<-finished, cmd, out.String(), log.String()}
}

// await returns when the process has come by the point, or has ended.
func (s *pointSite) await(t *testing.T, how strike, finished chan error) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if s.trace(t)[how.point] >= how.nth {
			return
		}
		select {
		case err := <-finished:
			finished <- err
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Errorf("%s was not come by in a minute", how)
}

// trace is how often the last process with failpoints has come by each.
func (s *pointSite) trace(t *testing.T) map[failpoint.Name]int {
	t.Helper()
	data, err := os.ReadFile(s.tracing())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	hits := map[failpoint.Name]int{}
	for line := range strings.Lines(string(data)) {
		hits[failpoint.Name(strings.TrimSpace(line))]++
	}
	return hits
}

// wantEnd wants that a run ended as what was done to it says.
func (s *pointSite) wantEnd(t *testing.T, how strike, run ended) {
	t.Helper()
	status := run.cmd.ProcessState.Sys().(syscall.WaitStatus)
	word := "failpoint " + string(how.point)
	switch {
	case how.fault == strikeKill:
		if !status.Signaled() || status.Signal() != syscall.SIGKILL {
			t.Errorf("the run ended with %v, want that it was killed", run.err)
		}
	case how.fault == strikePanic && slices.Contains(guarded, how.point):
		s.succeeded(t, run)
	case how.fault == strikePanic:
		if status.ExitStatus() != 2 || !strings.Contains(run.log, "panic: "+word) {
			t.Errorf("the run ended with %v, want a panic", run.err)
		}
	case how.fault == strikeError && (slices.Contains(dispensable, how.point) || how.nth > 1 && run.err == nil):
		// What comes by a point later may be what a run can do without, such as the
		// manifest of the shared index.
		s.succeeded(t, run)
	case how.fault == strikeError:
		if status.ExitStatus() != 1 || !strings.Contains(run.log, word) {
			t.Errorf("the run ended with %v, want 1 and an error that says %q", run.err, word)
		}
	case run.err != nil:
		if status.ExitStatus() != 1 || !strings.Contains(run.log, "get.js") {
			t.Errorf("the run ended with %v, want that it names the file that was changed", run.err)
		}
	}
	if found := pinnedReference.FindAllString(run.out, -1); run.out != "" && len(found) != 2 {
		t.Errorf("a run has printed a part of its results:\n%s", run.out)
	}
}

// succeeded wants references of both images.
func (s *pointSite) succeeded(t *testing.T, run ended) {
	t.Helper()
	if found := pinnedReference.FindAllString(run.out, -1); run.err != nil || len(found) != 2 {
		t.Fatalf("the run ended with %v and tells of %d images, want 2:\n%s%s", run.err, len(found), run.out, run.log)
	}
}
