package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	"github.com/distribution/distribution/v3/registry/handlers"
	"golang.org/x/crypto/bcrypt"
)

const (
	canaryPassword = "canary-password-7c1e"
	canaryHelper   = "canary-helper-90ab"
	canaryArgument = "canary-argument-55fd"
)

// canaries are all forms that the secrets take on their way.
func canaries() []string {
	basic := base64.StdEncoding.EncodeToString([]byte("founder:" + canaryPassword))
	return []string{canaryPassword, canaryHelper, canaryArgument, basic, base64.StdEncoding.EncodeToString([]byte("founder:" + canaryHelper))}
}

// canarySite is a registry with a password. While it answers a request it looks
// at what all processes were started with.
type canarySite struct {
	*testing.T
	app  http.Handler
	mu   sync.Mutex // guards seen
	seen int
}

func (s *canarySite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.Error(err)
	}
	found := 0
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		s.clean(path, line)
		if bytes.HasPrefix(line, []byte("toa\x00push")) {
			found++
		}
	}
	s.mu.Lock()
	s.seen += found
	s.mu.Unlock()
	s.app.ServeHTTP(w, r)
}

// clean wants no secret in what was found somewhere.
func (s *canarySite) clean(where string, data []byte) {
	s.Helper()
	for _, canary := range canaries() {
		if bytes.Contains(data, []byte(canary)) {
			s.Errorf("%s tells %s", where, canary)
		}
	}
}

func newCanarySite(t *testing.T) (s *canarySite, host string) {
	t.Helper()
	passwords := filepath.Join(t.TempDir(), "htpasswd")
	hash, err := bcrypt.GenerateFromPassword([]byte(canaryPassword), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	helped, err := bcrypt.GenerateFromPassword([]byte(canaryHelper), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(passwords, fmt.Appendf(nil, "founder:%s\nhelped:%s\n", hash, helped), 0o600); err != nil {
		t.Fatal(err)
	}
	config := &configuration.Configuration{
		Storage: configuration.Storage{"inmemory": {}, "maintenance": {"uploadpurging": map[any]any{"enabled": false}}},
		Auth:    configuration.Auth{"htpasswd": {"realm": "test", "path": passwords}},
	}
	config.Log.AccessLog.Disabled = true
	s = &canarySite{T: t, app: handlers.NewApp(t.Context(), config)}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, strings.TrimPrefix(server.URL, "http://")
}

// No password, token or build argument is in any output, in any file that a run
// leaves, or on any command line, whether the run lands or fails.
func TestCanaries(t *testing.T) {
	s, host := newCanarySite(t)
	docker := func(auth string) string { return `{"auths":{"` + host + `":{"auth":"` + auth + `"}}}` }
	right := base64.StdEncoding.EncodeToString([]byte("founder:" + canaryPassword))
	for _, row := range []struct {
		name, config string
		args         []string
		lands        bool
	}{
		{"password", docker(right), nil, true},
		{"events", docker(right), []string{"--output", "json"}, true},
		{"helper", `{"credHelpers":{"` + host + `":"canary"}}`, nil, true},
		{"wrong password", docker(base64.StdEncoding.EncodeToString([]byte("stranger:" + canaryPassword))), nil, false},
		{"no credentials", `{}`, []string{"--output", "json"}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{
				"secret/config.json":                  row.config,
				"secret/docker-credential-canary":     "#!/bin/sh\ntr '\\0' ' ' < /proc/$$/cmdline >> ../helped\ntr '\\0' ' ' < /proc/$PPID/cmdline >> ../helped\necho '{\"Username\":\"helped\",\"Secret\":\"" + canaryHelper + "\"}'\n",
				"shop/context.toa.yaml":               "name: shop\namqp: amqp://broker\nresources: null\nregistry: {platforms: [linux/amd64], build: {image: scratch, arguments: [TOKEN]}}\n",
				"shop/components/a/manifest.toa.yaml": "name: a\n",
				"shop/components/a/operations/get.js": "get",
			})
			cmd, out, log := process(t, dir, append([]string{"push", "--registry", host, "--summary", "../summary.md", "--trace", "../trace.json"}, row.args...)...)
			cmd.Dir = filepath.Join(dir, "shop")
			cmd.Env = append(cmd.Env[:2:2], "PATH="+filepath.Join(dir, "secret")+":"+os.Getenv("PATH"), "DOCKER_CONFIG="+filepath.Join(dir, "secret"), "TOKEN="+canaryArgument)
			if err := cmd.Run(); (err == nil) != row.lands {
				t.Fatalf("push: %v\n%s%s", err, out, log)
			}
			s.clean("standard output", out.Bytes())
			s.clean("standard error", log.Bytes())
			files := s.cleanFiles(dir)
			if !row.lands && !strings.Contains(log.String()+out.String(), "secret/config.json") {
				t.Errorf("who is refused is not told where credentials were looked for:\n%s", log)
			}
			if row.name == "helper" && !files["helped"] {
				t.Error("the helper was not asked")
			}
			if !files["summary.md"] || !files["trace.json"] {
				t.Errorf("no reports were looked at: %v", files)
			}
		})
	}
	if s.seen == 0 {
		t.Error("no command line of toa was looked at")
	}
}

// cleanFiles looks through all that is below a directory but for the credentials.
func (s *canarySite) cleanFiles(dir string) map[string]bool {
	files := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || filepath.Base(filepath.Dir(path)) == "secret" {
			return err
		}
		data, err := os.ReadFile(path)
		s.clean(path, data)
		files[filepath.Base(path)] = true
		return err
	})
	if err != nil {
		s.Error(err)
	}
	return files
}
