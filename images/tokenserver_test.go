package images_test

import (
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/token"
	"toa.io/toa/internal/tokentest"
)

// tokenServer issues tokens to who knows the one password.
type tokenServer struct{ *tokentest.Server }

func newTokenServer(t testing.TB) tokenServer {
	t.Helper()
	server, err := tokentest.New(t.TempDir(), map[string]tokentest.Account{user: {Password: password}})
	if err != nil {
		t.Fatal(err)
	}
	return tokenServer{server}
}

// configure makes a registry send its clients here.
func (s tokenServer) configure(realm string) func(*configuration.Configuration) {
	return func(c *configuration.Configuration) {
		c.Auth = configuration.Auth{"token": s.Parameters(realm)}
	}
}
