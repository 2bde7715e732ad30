package images

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
)

// refused says which credentials a registry was given that refuses them.
func (h *host) refused(e *RegistryError) string {
	switch {
	case !e.isRefusal():
		return ""
	case h.client.Keychain != nil:
		return "credentials of the program's own"
	default:
		return credentialSource(h.registry.RegistryStr())
	}
}

// credentialSource says where the credentials of a registry are looked for, so
// that who is refused sees which were tried. It follows go-containerregistry's
// authn.DefaultKeychain: Docker's config file, else Podman's.
func credentialSource(registry string) string {
	path := credentialFile()
	raw, err := os.ReadFile(path)
	if err != nil {
		return "no credentials: there is no " + path
	}
	var config struct {
		Auths       map[string]json.RawMessage `json:"auths"`
		CredHelpers map[string]string          `json:"credHelpers"`
		CredsStore  string                     `json:"credsStore"`
	}
	if json.Unmarshal(raw, &config) != nil {
		return "credentials of " + path
	}
	key := registry
	if registry == name.DefaultRegistry {
		key = "https://" + name.DefaultRegistry + "/v1/" // Docker Hub's, for historical reasons
	}
	if helper := cmp.Or(config.CredHelpers[key], config.CredsStore); helper != "" {
		return "credentials of docker-credential-" + helper + ", which " + path + " names"
	}
	if _, has := config.Auths[key]; has {
		return "credentials of " + path
	}
	return "no credentials: " + path + " has none of " + registry
}

func credentialFile() string {
	home, _ := os.UserHomeDir()
	docker := filepath.Join(cmp.Or(os.Getenv("DOCKER_CONFIG"), filepath.Join(home, ".docker")), "config.json")
	podman := filepath.Join("containers", "auth.json")
	for _, path := range []string{
		docker,
		os.Getenv("REGISTRY_AUTH_FILE"),
		filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), podman),
		filepath.Join(cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), podman),
	} {
		if info, err := os.Stat(path); err == nil && !info.IsDir() { //nolint:gosec // the user's own variables
			return path
		}
	}
	return docker
}
