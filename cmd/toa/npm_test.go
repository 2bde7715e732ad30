package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestNPMScripts are the promises of the command line about packages, with
// npm itself and a registry of its own that wants to know who asks.
func TestNPMScripts(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not on this machine")
	}
	url, token := verdaccio(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/npm",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TOA_CACHE_DIR", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("NPM_REGISTRY", url)
			env.Setenv("NPM_TOKEN", token)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"replace": replaceText},
	})
}

// verdaccio starts a registry for npm and makes a user of it.
func verdaccio(t *testing.T) (url, token string) {
	program := "verdaccio"
	if engine := os.Getenv("TOA_TEST_VERDACCIO"); engine != "" {
		program = filepath.Join(engine, "node_modules", ".bin", program)
	}
	program, err := exec.LookPath(program)
	if err != nil {
		t.Skip("no verdaccio: run test/setup verdaccio and set TOA_TEST_VERDACCIO, or put it in PATH")
	}
	dir, address := t.TempDir(), freeAddress(t)
	config := `
storage: ./storage
auth: {htpasswd: {file: ./htpasswd, max_users: 10}}
packages: {"**": {access: $authenticated, publish: $authenticated}}
web: {enable: false}
log: {type: stdout, format: json, level: fatal}
`
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(program, "--config", filepath.Join(dir, "config.yaml"), "--listen", address)
	child.Dir = dir
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-child.Process.Pid, syscall.SIGKILL)
		_ = child.Wait()
	})
	return "http://" + address, logIn(t, "http://"+address)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// logIn makes a user as soon as the registry answers.
func logIn(t *testing.T, registry string) (token string) {
	deadline, ticker := time.Now().Add(2*time.Minute), time.NewTicker(50*time.Millisecond)
	defer ticker.Stop()
	for ; ; <-ticker.C {
		user := bytes.NewReader([]byte(`{"name": "tester", "password": "secret-of-tester"}`))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, registry+"/-/user/org.couchdb.user:tester", user)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			if time.Now().After(deadline) {
				t.Fatalf("verdaccio does not answer: %v", err)
			}
			continue
		}
		var said struct{ Token string }
		err = json.NewDecoder(response.Body).Decode(&said)
		_ = response.Body.Close()
		if err != nil || said.Token == "" {
			t.Fatalf("log in: %s, %v", response.Status, err)
		}
		return said.Token
	}
}
