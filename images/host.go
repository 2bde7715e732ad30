package images

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// host is one registry: how it wants to be spoken to, found out once. No
// request is spent on asking: the first answer of 401 says it.
type host struct {
	client   *Client
	registry name.Registry
	scheme   string

	challenge atomic.Pointer[transport.Challenge] // of bearer registries
	turn      turns[string]                       // of credentials and of tokens by scope

	mu     sync.Mutex // guards login and tokens
	login  *authn.AuthConfig
	tokens map[string]string
}

// authorization is the header to send, or empty.
func (h *host) authorization(ctx context.Context, scopes []string) (string, error) {
	login, err := h.credentials(ctx)
	if err != nil {
		return "", err
	}
	if login.RegistryToken != "" {
		return "Bearer " + login.RegistryToken, nil
	}
	if challenge := h.challenge.Load(); challenge != nil {
		token, err := h.token(ctx, challenge, *login, scopes)
		if err != nil {
			return "", err
		}
		return "Bearer " + token, nil
	}
	switch {
	case login.Username != "" && login.Password != "":
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(login.Username+":"+login.Password)), nil
	case login.Auth != "":
		return "Basic " + login.Auth, nil
	default:
		return "", nil
	}
}

// credentials asks the keychain once for each registry: a helper is a process.
func (h *host) credentials(ctx context.Context) (*authn.AuthConfig, error) {
	release, err := h.turn.take(ctx, "credentials")
	if err != nil {
		return nil, err
	}
	defer release()
	h.mu.Lock()
	login := h.login
	h.mu.Unlock()
	if login != nil {
		return login, nil
	}
	keychain := h.client.Keychain
	if keychain == nil {
		keychain = authn.DefaultKeychain
	}
	authenticator, err := authn.Resolve(ctx, keychain, h.registry)
	if err != nil {
		return nil, fmt.Errorf("read credentials of %s: %w", h.registry, err)
	}
	if login, err = authn.Authorization(ctx, authenticator); err != nil {
		return nil, fmt.Errorf("read credentials of %s: %w", h.registry, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.login = login
	return login, nil
}

// challenged takes in what an answer of 401 asks for and tells whether sending
// again makes sense. Used is the authorization that was refused.
func (h *host) challenged(resp *http.Response, scopes []string, used string) bool {
	challenge := challengeOf(resp.Header)
	if challenge == nil || challenge.Scheme != "bearer" || resp.Request.URL.Host != h.registry.RegistryStr() {
		return false
	}
	challenge.Insecure = h.scheme == "http"
	h.challenge.Store(challenge)
	h.mu.Lock()
	defer h.mu.Unlock()
	if key := strings.Join(scopes, " "); used == "Bearer "+h.tokens[key] {
		delete(h.tokens, key) // it has run out
	}
	return true
}

func (h *host) token(ctx context.Context, challenge *transport.Challenge, login authn.AuthConfig, scopes []string) (string, error) {
	key := strings.Join(scopes, " ")
	release, err := h.turn.take(ctx, key)
	if err != nil {
		return "", err
	}
	defer release()
	h.mu.Lock()
	token := h.tokens[key]
	h.mu.Unlock()
	if token != "" {
		return token, nil
	}
	if token, err = h.exchange(ctx, challenge, login, scopes); err != nil {
		return "", fmt.Errorf("get a token of %s: %w", h.registry, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens[key] = token
	return token, nil
}

// exchange gets a token of the server that the challenge names.
func (h *host) exchange(ctx context.Context, challenge *transport.Challenge, login authn.AuthConfig, scopes []string) (string, error) {
	carrier := h.client.client().Transport
	for try := 0; ; try++ {
		token, err := transport.Exchange(ctx, h.registry, authn.FromConfig(login), carrier, scopes, challenge)
		if err == nil {
			if token.Token == "" {
				return token.AccessToken, nil
			}
			return token.Token, nil
		}
		if err = tokenError(ctx, err, h.registry.RegistryStr()); try == maxRetries || !retryable(nil, err) {
			return "", err
		}
		if err := h.client.pause(ctx, try, nil); err != nil {
			return "", err
		}
	}
}

// tokenError keeps what a token server said out of the error: it may quote
// credentials.
func tokenError(ctx context.Context, err error, registry string) error {
	var answer *transport.Error
	switch {
	case errors.As(err, &answer):
		return &RegistryError{Host: registry, Status: answer.StatusCode}
	case strings.HasPrefix(err.Error(), "no token in bearer response"):
		return errors.New("the token server gives none")
	default:
		return bare(ctx, err)
	}
}
