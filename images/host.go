package images

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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

	pace      pace
	challenge atomic.Pointer[transport.Challenge] // of bearer registries
	// refusesPush says that it gave no token to push where it was asked for one.
	refusesPush atomic.Bool
	// accepts says that it gave a token: the credentials are right. Insists says
	// that it went on refusing one where it was asked again.
	accepts, insists atomic.Bool
	turn             turns[string] // of credentials and of tokens by scope

	mu     sync.Mutex // guards login and tokens
	login  *authn.AuthConfig
	tokens map[string]grant
}

// grant is a token and when it is to be used no more; zero means until it is
// refused. Or it is the refusal to give one: who asked once has its answer, and
// whose password is wrong is not locked out for asking on.
type grant struct {
	token   string
	until   time.Time
	refusal *RegistryError
}

func (g grant) good() bool { return g.token != "" && (g.until.IsZero() || time.Now().Before(g.until)) }

// await waits until the registry lets another request begin.
func (h *host) await(ctx context.Context) (era int, err error) {
	era, wait := h.pace.reserve()
	h.waits("limits requests", wait)
	return era, sleep(ctx, wait)
}

// waits tells a person why nothing seems to happen.
func (h *host) waits(why string, wait time.Duration) {
	if h.client.Notice != nil && h.pace.isNews(wait) {
		h.client.Notice(fmt.Sprintf("%s %s: waiting %s", h.registry, why, wait.Round(time.Second)))
	}
}

// authorization is the header to send, or empty. Who is insistent asks again
// where a refusal may be a passing one.
func (h *host) authorization(ctx context.Context, scopes []string, insistent bool) (string, error) {
	login, err := h.credentials(ctx)
	if err != nil {
		return "", err
	}
	if login.RegistryToken != "" {
		return "Bearer " + login.RegistryToken, nil
	}
	if challenge := h.challenge.Load(); challenge != nil {
		token, err := h.token(ctx, challenge, *login, scopes, insistent)
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
	if used != "" && isInsufficient(challenge) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if key := strings.Join(scopes, " "); used == "Bearer "+h.tokens[key].token {
		delete(h.tokens, key) // it has run out
	}
	return true
}

func (h *host) token(ctx context.Context, challenge *transport.Challenge, login authn.AuthConfig, scopes []string, insistent bool) (string, error) {
	key := strings.Join(scopes, " ")
	release, err := h.turn.take(ctx, key)
	if err != nil {
		return "", err
	}
	defer release()
	h.mu.Lock()
	held := h.tokens[key]
	h.mu.Unlock()
	if held.refusal != nil && (!insistent || !h.doubts()) {
		return "", h.tokenless(held.refusal)
	}
	if held.good() {
		return held.token, nil
	}
	got, err := h.obtain(ctx, challenge, login, scopes, insistent)
	if err == nil && held.refusal != nil {
		h.refusesPush.Store(false) // it was a passing one
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens[key] = got
	return got.token, err
}

// maxDoubts bounds how often a refusal is not believed.
const maxDoubts = 3

// obtain gets a token. What is refused to who is insistent is asked for again:
// token servers refuse in passing too, when something behind them fails, and
// nothing but asking tells such a refusal from one that stays.
func (h *host) obtain(ctx context.Context, challenge *transport.Challenge, login authn.AuthConfig, scopes []string, insistent bool) (grant, error) {
	for doubts := 0; ; doubts++ {
		got, err := h.exchange(ctx, challenge, login, scopes)
		var answer *RegistryError
		switch {
		case err == nil:
			h.accepts.Store(true)
			return got, nil
		case !errors.As(err, &answer) || !answer.isRefusal():
			return grant{}, h.tokenless(err)
		case !insistent || !h.doubts():
			return grant{refusal: answer}, h.tokenless(answer)
		case doubts == maxDoubts:
			h.insists.Store(true)
			return grant{refusal: answer}, h.tokenless(answer)
		}
		wait := h.client.backoff() << doubts
		if err := sleep(ctx, wait+rand.N(wait)); err != nil { //nolint:gosec // no secret: other processes shall not come back together
			return grant{}, err
		}
	}
}

// doubts tells whether refusals may be passing ones. Credentials that never got
// a token may be wrong, and some servers lock out who tries them again and again;
// a server that went on refusing once is believed from then on.
func (h *host) doubts() bool { return h.accepts.Load() && !h.insists.Load() }

func (h *host) tokenless(err error) error {
	return fmt.Errorf("get a token of %s: %w", h.registry, err)
}

// exchange gets a token of the server that the challenge names.
func (h *host) exchange(ctx context.Context, challenge *transport.Challenge, login authn.AuthConfig, scopes []string) (grant, error) {
	var got grant
	err := h.persist(ctx, func() error {
		asked := time.Now()
		token, err := h.exchangeOnce(ctx, challenge, login, scopes)
		if err == nil {
			got = newGrant(token, asked)
		}
		return err
	})
	return got, err
}

func (h *host) exchangeOnce(ctx context.Context, challenge *transport.Challenge, login authn.AuthConfig, scopes []string) (*transport.Token, error) {
	era, err := h.await(ctx)
	if err != nil {
		return nil, err
	}
	watch := watched(ctx, h.client.stall())
	defer watch.stop()
	heard := &hearing{RoundTripper: h.client.client().Transport}
	token, err := transport.Exchange(watch.ctx, h.registry, authn.FromConfig(login), heard, scopes, challenge) //nolint:contextcheck // it is made of ctx
	if heard.complains {
		h.pace.slower(era, heard.wait)
	} else {
		h.pace.faster()
	}
	if err != nil {
		return nil, h.tokenError(ctx, watch.explain(err), heard)
	}
	return token, nil
}

// hearing keeps what the last answer said of limits: an error of the exchange
// does not tell.
type hearing struct {
	http.RoundTripper
	wait      time.Duration
	complains bool
}

func (h *hearing) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := h.RoundTripper.RoundTrip(req)
	if err == nil {
		h.wait, h.complains = complaint(resp)
	}
	return resp, err
}

// newGrant leaves a token unused for the last quarter of its life: a request
// must reach the registry before it ends.
func newGrant(token *transport.Token, asked time.Time) grant {
	g := grant{token: cmp.Or(token.Token, token.AccessToken)}
	if token.ExpiresIn > 0 {
		g.until = asked.Add(time.Duration(token.ExpiresIn) * time.Second * 3 / 4)
	}
	return g
}

// tokenError keeps what a token server said out of the error: it may quote
// credentials.
func (h *host) tokenError(ctx context.Context, err error, heard *hearing) error {
	var answer *transport.Error
	switch {
	case errors.As(err, &answer):
		e := &RegistryError{Host: h.registry.RegistryStr(), Status: answer.StatusCode, Limited: heard.complains, RetryAfter: heard.wait}
		e.Credentials = h.refused(e)
		return e
	case strings.HasPrefix(err.Error(), "no token in bearer response"):
		return errors.New("the token server gives none")
	default:
		return unreachable(h.registry.RegistryStr(), bare(ctx, err))
	}
}
