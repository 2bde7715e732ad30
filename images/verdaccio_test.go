package images_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/images"
)

// verdaccio is a real npm registry, a process of its own, that tells nothing to
// who has not logged in.
type verdaccio struct{ url, token string }

func newVerdaccio(t *testing.T) *verdaccio {
	t.Helper()
	program := "verdaccio"
	if engine := os.Getenv("TOA_TEST_VERDACCIO"); engine != "" {
		program = filepath.Join(engine, "node_modules", ".bin", program)
	}
	program, err := exec.LookPath(program)
	if err != nil {
		t.Skip("no verdaccio: run test/setup verdaccio and set TOA_TEST_VERDACCIO, or put it in PATH")
	}
	dir, address := t.TempDir(), freeAddress(t)
	files{"config.yaml": `
storage: ./storage
auth: {htpasswd: {file: ./htpasswd, max_users: 10}}
packages: {"**": {access: $authenticated, publish: $authenticated}}
web: {enable: false}
log: {type: stdout, format: json, level: fatal}
`}.write(t, dir)
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
	v := &verdaccio{url: "http://" + address}
	v.login(t)
	return v
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

// login makes a user as soon as the registry answers, and keeps the token.
func (v *verdaccio) login(t *testing.T) {
	t.Helper()
	user, err := json.Marshal(map[string]string{"name": "tester", "password": "secret-of-tester"})
	if err != nil {
		t.Fatal(err)
	}
	deadline, ticker := time.Now().Add(2*time.Minute), time.NewTicker(50*time.Millisecond)
	defer ticker.Stop()
	for ; ; <-ticker.C {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, v.url+"/-/user/org.couchdb.user:tester", bytes.NewReader(user))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			if time.Now().After(deadline) {
				t.Fatalf("verdaccio does not answer: %v", err)
			}
			continue
		}
		var said struct{ Token string }
		err = json.NewDecoder(resp.Body).Decode(&said)
		_ = resp.Body.Close()
		if err != nil || said.Token == "" {
			t.Fatalf("log in: %s, %v", resp.Status, err)
		}
		v.token = said.Token
		return
	}
}

// config is the .npmrc of who has logged in.
func (v *verdaccio) config() string {
	return fmt.Sprintf("registry=%s\n%s/:_authToken=%s\n", v.url, strings.TrimPrefix(v.url, "http:"), v.token)
}

// npm runs npm as a developer does.
func (v *verdaccio) npm(t *testing.T, dir string, args ...string) {
	t.Helper()
	files{".npmrc": v.config()}.write(t, dir)
	child := exec.CommandContext(t.Context(), "npm", append(args, "--no-audit", "--no-fund", "--cache="+t.TempDir())...)
	child.Dir = dir
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("npm %q: %v: %s", args, err, out)
	}
}

// A component whose packages are private: what npm publishes and locks with a
// real registry is what the image holds, and without the token nothing is.
func TestVerdaccio(t *testing.T) {
	realNPM(t)
	v := newVerdaccio(t)
	b, dir, seen := npmBench(t)
	shared := files{"package.json": `{"name":"@acme/shared","version":"1.2.3","bin":"run.js"}`, "run.js": "x:#!/usr/bin/env node\n"}.write(t, t.TempDir())
	v.npm(t, shared, "publish")
	packageJSON := `{"name":"orders","version":"1.0.0","dependencies":{"@acme/shared":"^1.0.0"}}`
	component := files{"package.json": packageJSON}.write(t, t.TempDir())
	v.npm(t, component, "install")
	lock, err := os.ReadFile(filepath.Join(component, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}

	s := dependencies(t, packageJSON, string(lock), v.url)
	files{".npmrc": v.config()}.write(t, s.Sources[0].Dir)
	s.Recipe.Installs[0].Config = cache.Digest([]byte(v.config())).String()
	got := installed(t, b, b.build(t, s), 0)
	same(t, "files", names(got), []string{".bin/shared", "@acme/shared/package.json", "@acme/shared/run.js"})
	same(t, "program", got["@acme/shared/run.js"], "x:#!/usr/bin/env node\n")
	for name, content := range got {
		if strings.Contains(content, v.token) {
			t.Errorf("the token is in %s", name)
		}
	}
	if strings.Contains(seen.text(), v.token) {
		t.Error("the token is in npm's output")
	}
	tmpIsEmpty(t, dir)

	other := newBench(t, t.TempDir())
	other.native.NPMCache = t.TempDir()
	_, err = other.native.Build(t.Context(), dependencies(t, packageJSON, string(lock), v.url), nil)
	var failed *images.NPMError
	if !errors.As(err, &failed) {
		t.Errorf("Build without the token: got %v, want an NPMError", err)
	}
}

// A package of the workspace that needs one of a private registry gets what its
// own lockfile says, which npm has made; a component without a lockfile gets
// the same from the registry.
func TestVerdaccioAndThePackagesOfTheWorkspace(t *testing.T) {
	realNPM(t)
	v := newVerdaccio(t)
	b, dir, _ := npmBench(t)
	shared := files{"package.json": `{"name":"@acme/shared","version":"1.2.3"}`}.write(t, t.TempDir())
	v.npm(t, shared, "publish")
	near := files{"package.json": `{"name":"near","version":"1.0.0","dependencies":{"@acme/shared":"^1.0.0"}}`}.write(t, t.TempDir())
	v.npm(t, near, "install")
	nearby := files{"package.json": readText(t, near, "package.json"), "package-lock.json": readText(t, near, "package-lock.json")}
	root := files{"orders/package.json": `{"name":"orders","dependencies":{"near":"file:../near"}}`, "near/package.json": nearby["package.json"]}.write(t, t.TempDir())
	v.npm(t, filepath.Join(root, "orders"), "install")
	manifest, lock := readText(t, root, "orders/package.json"), readText(t, root, "orders/package-lock.json")
	for _, row := range []struct{ name, lock, shared string }{
		{"locked", lock, "near/node_modules/@acme/shared/package.json"},
		{"no lockfile", "", "@acme/shared/package.json"},
	} {
		s := with(t, dependencies(t, manifest, row.lock, v.url), map[string]files{"near": nearby})
		files{".npmrc": v.config()}.write(t, s.Sources[0].Dir)
		s.Recipe.Installs[0].Config = cache.Digest([]byte(v.config())).String()
		want := []string{"near/package.json", row.shared}
		slices.Sort(want)
		same(t, row.name, names(installed(t, b, b.build(t, s), 0)), want)
		tmpIsEmpty(t, dir)
	}
}

func readText(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
