package images

import (
	"context"
	"net/http"
	"net/url"
)

// Account is how a registry is spoken to.
type Account struct {
	Host string
	// Scheme is "https", or "http" where that is allowed.
	Scheme string
	// Credentials says where those come from, and nothing that is in them.
	Credentials string
}

// Account tells how the registry of a base ("host/path") is spoken to. Nothing
// is sent for that.
func (c *Client) Account(base string) (Account, error) {
	repo, err := c.repository(base)
	if err != nil {
		return Account{}, err
	}
	a := Account{Host: repo.registry.RegistryStr(), Scheme: repo.scheme, Credentials: "credentials of the program's own"}
	if c.Keychain == nil {
		a.Credentials = credentialSource(a.Host)
	}
	return a, nil
}

// Greet asks the registry of a base whether it takes our credentials: the one
// request that every registry answers and that changes nothing
// (github.com/opencontainers/distribution-spec, end-1).
func (c *Client) Greet(ctx context.Context, base string) error {
	repo, err := c.repository(base)
	if err != nil {
		return err
	}
	at := &url.URL{Scheme: repo.scheme, Host: repo.registry.RegistryStr(), Path: "/v2/"}
	_, err = repo.ask(ctx, call{method: http.MethodGet, url: at}, http.StatusOK)
	return err
}
