package buildkit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/cli/cli/config"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"toa.io/toa/images"
	"toa.io/toa/internal/enginetest"
)

// keychain knows one login, whatever the docker config says.
type keychain struct{ user, password string }

func (k keychain) Resolve(authn.Resource) (authn.Authenticator, error) {
	return &authn.Basic{Username: k.user, Password: k.password}, nil
}

// The engine reads bases, and keeps its cache, with the credentials of the
// docker config, which it gets as it needs them. The place of that config is one
// for the whole process, so that no other test runs beside this one.
func TestRegistryCredentials(t *testing.T) {
	const user, password = "robot", "canary-90ab41ef"
	guarded, open := enginetest.Guarded(t, user, password)
	b := newBenchAt(t, enginetest.Start(t).Address) // one that has seen no base
	b.registry = open
	b.native.Client = &images.Client{Keychain: keychain{user, password}}
	b.builder.Cache = guarded + "/shop/buildcache"
	step := b.dependencies(t, "one", "echo one > /one")
	step.Recipe.Base = strings.Replace(step.Recipe.Base, open, guarded, 1)

	dockerConfig(t, "{}")
	if _, err := b.builder.Build(t.Context(), step, nil); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("Build without credentials: %v, want what the registry answered", err)
	}
	dockerConfig(t, fmt.Sprintf(`{"auths": {%q: {"username": %q, "password": %q}}}`, guarded, user, password))
	b.build(t, b.builder, step)
	if said := b.said(); strings.Contains(said, password) {
		t.Errorf("the password is told:\n%s", said)
	}
	kept, err := name.ParseReference(images.CacheReference(open+"/shop/buildcache", step))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Head(kept); err != nil {
		t.Errorf("the engine kept no cache in the registry: %v", err)
	}
}

// dockerConfig is the docker config for this test.
func dockerConfig(t *testing.T, text string) {
	t.Helper()
	dir, before := t.TempDir(), config.Dir()
	if err := os.WriteFile(filepath.Join(dir, config.ConfigFileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config.SetDir(dir)
	t.Cleanup(func() { config.SetDir(before) })
}
