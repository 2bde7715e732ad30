package enginetest_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"toa.io/toa/internal/enginetest"
)

// An engine that is killed is gone, with its files.
func TestKill(t *testing.T) {
	engine := enginetest.Start(t)
	socket := strings.TrimPrefix(engine.Address, "unix://")
	if _, err := os.Stat(socket); err != nil {
		t.Fatalf("it does not listen: %v", err)
	}
	engine.Kill()
	if _, err := os.Stat(strings.TrimSuffix(socket, "/sock")); !os.IsNotExist(err) {
		t.Errorf("its directory is still there: %v", err)
	}
}

// The tests of a binary share one engine.
func TestShared(t *testing.T) {
	if one, two := enginetest.BuildKit(t), enginetest.BuildKit(t); one != two {
		t.Errorf("two engines: %s and %s", one, two)
	}
}

// An engine ends with the process that started it, however that ends.
func TestEndsWithItsUser(t *testing.T) {
	const user = "TOA_TEST_ENGINE_USER"
	if os.Getenv(user) != "" {
		fmt.Println(enginetest.Start(t).Address)
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	enginetest.Binary(t, "buildkitd")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEndsWithItsUser$", "-test.v")
	child.Env = append(os.Environ(), user+"=1")
	leash, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = leash.Close() }()
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	socket := address(t, out)
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = child.Wait()
	gone(t, strings.TrimSuffix(socket, "/sock"))
}

// address is what the child says of its engine.
func address(t *testing.T, out io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, socket, ok := strings.Cut(lines.Text(), "unix://"); ok {
			return socket
		}
		if strings.Contains(lines.Text(), "SKIP") {
			t.Skip("an engine cannot run here")
		}
	}
	t.Fatal("the child started no engine")
	return ""
}

// gone waits until a directory is.
func gone(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", dir)
		}
	}
}
