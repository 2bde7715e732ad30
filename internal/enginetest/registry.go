package enginetest

import (
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd" // how one asks who is there
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem" // where it keeps images
	"github.com/sirupsen/logrus"
	"golang.org/x/crypto/bcrypt"
)

// Registry is the host of a registry in this process, which lasts as long as
// the test. Engines reach it too.
func Registry(t testing.TB) string {
	t.Helper()
	return serve(t, t.TempDir(), nil)
}

// Guarded are the hosts of two registries that hold the same images: one asks
// for a user and a password, the other nobody.
func Guarded(t testing.TB, user, password string) (guarded, open string) {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "htpasswd")
	if err := os.WriteFile(file, fmt.Appendf(nil, "%s:%s\n", user, hash), 0o600); err != nil {
		t.Fatal(err)
	}
	images := t.TempDir()
	auth := configuration.Auth{"htpasswd": configuration.Parameters{"realm": "test", "path": file}}
	return serve(t, images, auth), serve(t, images, nil)
}

func serve(t testing.TB, images string, auth configuration.Auth) string {
	t.Helper()
	logrus.SetOutput(io.Discard) // it logs there, whatever it is told
	settings := &configuration.Configuration{
		Auth: auth,
		Storage: configuration.Storage{
			// In memory it would take minutes for a layer of the size of Node's.
			"filesystem":  configuration.Parameters{"rootdirectory": images},
			"delete":      configuration.Parameters{"enabled": true},
			"maintenance": configuration.Parameters{"uploadpurging": map[any]any{"enabled": false}},
		},
	}
	settings.Log.AccessLog.Disabled = true
	settings.HTTP.Secret = "test"
	server := httptest.NewServer(handlers.NewApp(t.Context(), settings))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}
