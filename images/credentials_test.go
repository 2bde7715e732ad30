package images_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

// Who is refused reads where credentials were looked for, and none of them.
// bazelbuild/rules_docker#2215, bazel-contrib/rules_oci#895
func TestRefusalNamesTheCredentials(t *testing.T) {
	reg := newRegistry(t)
	status := http.StatusForbidden
	reg.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, password)
		return true
	})
	auth := `"auth":"Zm91bmRlcjpjYW5hcnktcGFzc3dvcmQ="`
	for _, row := range []struct {
		name   string
		files  map[string]string // below HOME
		env    string            // of DOCKER_CONFIG, below HOME
		status int
		want   string
	}{
		{"nothing", nil, "", 401, "no credentials: there is no HOME/.docker/config.json"},
		{"of another", map[string]string{".docker/config.json": `{"auths":{"other":{` + auth + `}}}`}, "", 401, "no credentials: HOME/.docker/config.json has none of " + reg.host},
		{"docker", map[string]string{".docker/config.json": `{"auths":{"` + reg.host + `":{` + auth + `}}}`}, "", 403, "tried with credentials of HOME/.docker/config.json"},
		{"elsewhere", map[string]string{"ci/config.json": `{"auths":{"` + reg.host + `":{` + auth + `}}}`}, "ci", 403, "tried with credentials of HOME/ci/config.json"},
		{"podman", map[string]string{".config/containers/auth.json": `{"auths":{"` + reg.host + `":{` + auth + `}}}`}, "", 403, "tried with credentials of HOME/.config/containers/auth.json"},
		{"helper", map[string]string{".docker/config.json": `{"credHelpers":{"` + reg.host + `":"canary"}}`, "bin/docker-credential-canary": "x:#!/bin/sh\necho '{\"Username\":\"founder\",\"Secret\":\"" + password + "\"}'\n"}, "", 403, "docker-credential-canary, which HOME/.docker/config.json names"},
	} {
		t.Run(row.name, func(t *testing.T) {
			status = row.status
			home := files(row.files).write(t, t.TempDir())
			t.Setenv("HOME", home)
			t.Setenv("PATH", filepath.Join(home, "bin")+":"+os.Getenv("PATH"))
			for _, name := range []string{"DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"} {
				t.Setenv(name, "")
			}
			if row.env != "" {
				t.Setenv("DOCKER_CONFIG", filepath.Join(home, row.env))
			}
			_, err := (&images.Remote{Client: &images.Client{}}).Has(t.Context(), orchestrator.Reference{Repository: reg.host + "/shop/x", Tag: "t"})
			if err == nil {
				t.Fatal("Has: no error")
			}
			text := strings.ReplaceAll(err.Error(), home, "HOME")
			if !strings.Contains(text, row.want) || !strings.Contains(text, reg.host+"/shop/x:t") || strings.Contains(text, password) {
				t.Errorf("Has: got %q, want %q", text, row.want)
			}
		})
	}
}

// What keeps a registry from being spoken to is told with its name and a way out.
func TestUnreachableRegistries(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it is not trusted, which it says
	secure.StartTLS()
	t.Cleanup(secure.Close)
	open := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(open.Close)
	for _, row := range []struct{ name, host, address, hint string }{
		{"no address", "registry.invalid", "", "no address is known of registry.invalid"},
		{"nothing listens", "127.0.0.1:1", "", "nothing listens at 127.0.0.1:1"},
		{"not trusted", "registry.test", secure.Listener.Addr().String(), "SSL_CERT_FILE"},
		{"without TLS", "registry.test", open.Listener.Addr().String(), "speaks http without TLS"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, t.TempDir())
			b.client.Transport = &http.Transport{DisableKeepAlives: true, DialContext: dial(row.address)}
			_, err := b.remote.Has(t.Context(), orchestrator.Reference{Repository: row.host + "/shop/x", Tag: "t"})
			var unreachable *images.UnreachableError
			if !errors.As(err, &unreachable) || unreachable.Host != row.host || !strings.Contains(unreachable.Hint(), row.hint) {
				t.Errorf("Has: got %v, want a hint with %q", err, row.hint)
			}
		})
	}
}

// dial connects to an address whatever name is asked for; to the name's own if
// it is empty.
func dial(address string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, named string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, cmp.Or(address, named))
	}
}
