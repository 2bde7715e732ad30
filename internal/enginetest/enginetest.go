// Package enginetest gives tests real engines to build in: a BuildKit daemon, a
// registry, and base images made of what is on this machine. Only tests import
// it.
//
// Its users may rely on this: a test whose engine is not installed is skipped
// with the reason; whatever becomes of the test binary, the engines end with it
// and leave no files.
package enginetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moby/buildkit/client"
)

// directory is the environment variable that names the directory that
// test/buildkit/build has filled.
const directory = "TOA_TEST_BUILDKIT"

// Binary is where one of the programs of test/buildkit is. The test is skipped
// where it is not there.
func Binary(t testing.TB, name string) string {
	t.Helper()
	path, err := find(name)
	if err != nil {
		t.Skip(err)
	}
	return path
}

func find(name string) (string, error) {
	if dir := os.Getenv(directory); dir != "" {
		name = filepath.Join(dir, name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("no %s: run test/setup buildkit and set %s, or put it in PATH", filepath.Base(name), directory)
	}
	return path, nil
}

// memory bounds what an engine of tests keeps. It is in memory, as nothing of it
// outlives the engine: on disk, every step would wait for several databases.
const memory = 4 << 30

var shared = sync.OnceValues(func() (*Engine, error) { return start(memory) })

// BuildKit is the address of the one engine that the tests of a binary share.
func BuildKit(t testing.TB) string {
	t.Helper()
	needed(t)
	engine, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return engine.Address
}

// Start starts an engine for one test.
func Start(t testing.TB) *Engine {
	t.Helper()
	return own(t, memory)
}

// StartOnDisk is Start with a real disk, for those who measure.
func StartOnDisk(t testing.TB) *Engine {
	t.Helper()
	return own(t, 0)
}

// StartSmall is Start with a disk of so many bytes.
func StartSmall(t testing.TB, size int) *Engine {
	t.Helper()
	return own(t, size)
}

func own(t testing.TB, size int) *Engine {
	t.Helper()
	needed(t)
	engine, err := start(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Kill)
	return engine
}

// needed skips a test where an engine cannot run.
func needed(t testing.TB) {
	t.Helper()
	Binary(t, "buildkitd")
	for _, name := range []string{"runc", "unshare"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s, which an engine takes: run test/setup %s", name, name)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("an engine with runc takes root")
	}
}

// Engine is a BuildKit daemon of a test.
type Engine struct {
	// Address is that of its socket.
	Address string

	keeper *exec.Cmd
	// leash holds the keeper: it ends when nobody holds the other end any more,
	// even if this process is killed.
	leash interface{ Close() error }
	once  sync.Once
	dir   string
}

// keeper runs the daemon until its standard input ends, and cleans up behind it.
// Steps that run and what is mounted for them end with the daemon's namespaces.
const keeper = `dir=$1
unshare --mount --mount-proc --pid --fork --kill-child /bin/sh -c "$2" daemon "$@" >"$dir/log" 2>&1 </dev/null &
pid=$!
cat >/dev/null
kill -KILL $pid 2>/dev/null
wait $pid 2>/dev/null
for try in 1 2 3 4 5 6 7 8 9; do
    rm -rf "$dir" 2>/dev/null && exit
    sleep 0.1 # until the kernel is done with the namespaces
done`

// daemon becomes the daemon. A size bounds its disk, which is in memory then.
const daemon = `set -e
mkdir "$1/root"
[ "$4" = 0 ] || mount -t tmpfs -o "size=$4" tmpfs "$1/root"
exec "$3" --config "$1/buildkitd.toml"`

const configurationFile = `root = "%[1]s/root"
[grpc]
  address = ["unix://%[1]s/sock"]
[worker.containerd]
  enabled = false
[worker.oci]
  enabled = true
  binary = "runc"
  networkMode = "host"
  gc = false
`

// start starts one with so many bytes of memory for a disk, or a real one for 0.
func start(size int) (*Engine, error) {
	binary, err := find("buildkitd")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "toa-buildkit-")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "buildkitd.toml")
	if err := os.WriteFile(file, fmt.Appendf(nil, configurationFile, dir), 0o600); err != nil {
		return nil, err
	}
	e := &Engine{Address: "unix://" + dir + "/sock", dir: dir}
	e.keeper = exec.CommandContext(context.Background(), "/bin/sh", "-c", keeper, "keeper", dir, daemon, binary, strconv.Itoa(size))
	e.keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is for the test
	if e.leash, err = e.keeper.StdinPipe(); err != nil {
		return nil, err
	}
	if err := e.keeper.Start(); err != nil {
		return nil, err
	}
	if err := e.ready(); err != nil {
		e.Kill()
		return nil, err
	}
	return e, nil
}

// ready waits until the engine answers.
func (e *Engine) ready() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Minute, errors.New("buildkitd does not answer"))
	defer cancel()
	c, err := client.New(ctx, e.Address)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := c.Wait(ctx); err != nil {
		log, _ := os.ReadFile(filepath.Join(e.dir, "log"))
		return fmt.Errorf("start buildkitd: %w: %s", err, log)
	}
	return nil
}

// Kill ends the engine at once, as a crash would. It returns when it is gone.
func (e *Engine) Kill() {
	e.once.Do(func() {
		_ = e.leash.Close()
		_ = e.keeper.Wait()
	})
}
