// Package npmtest starts a real registry for npm, for tests only. It tells
// nothing to who has not logged in.
package npmtest

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
)

// Variable of the environment names the directory where verdaccio is installed;
// without it the one in PATH is taken.
const Variable = "TOA_TEST_VERDACCIO"

// Registry is one that runs until its test ends, and the token of a user that it
// knows.
type Registry struct{ URL, Token string }

const config = `
storage: ./storage
auth: {htpasswd: {file: ./htpasswd, max_users: 10}}
packages: {"**": {access: $authenticated, publish: $authenticated}}
web: {enable: false}
log: {type: stdout, format: json, level: fatal}
`

// Start skips the test where there is no verdaccio.
func Start(t *testing.T) Registry {
	t.Helper()
	program := "verdaccio"
	if engine := os.Getenv(Variable); engine != "" {
		program = filepath.Join(engine, "node_modules", ".bin", program)
	}
	program, err := exec.LookPath(program)
	if err != nil {
		t.Skip("no verdaccio: run test/setup verdaccio and set " + Variable + ", or put it in PATH")
	}
	dir, address := t.TempDir(), freeAddress(t)
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), program, "--config", filepath.Join(dir, "config.yaml"), "--listen", address) //nolint:gosec // what whoever runs the tests names
	child.Dir, child.SysProcAttr = dir, group()
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-child.Process.Pid, syscall.SIGKILL)
		_ = child.Wait()
	})
	r := Registry{URL: "http://" + address}
	r.Token = r.logIn(t)
	return r
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// logIn makes a user as soon as the registry answers.
func (r Registry) logIn(t *testing.T) (token string) {
	t.Helper()
	deadline, ticker := time.Now().Add(2*time.Minute), time.NewTicker(50*time.Millisecond)
	defer ticker.Stop()
	for ; ; <-ticker.C {
		user := bytes.NewReader([]byte(`{"name": "tester", "password": "secret-of-tester"}`))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, r.URL+"/-/user/org.couchdb.user:tester", user)
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
