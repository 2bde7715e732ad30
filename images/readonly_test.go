package images_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/google/go-containerregistry/pkg/authn"
	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/internal/tokentest"
	"toa.io/toa/orchestrator"
)

// reader is an account that may only pull.
var reader = &authn.Basic{Username: "reader", Password: "canary-reads"}

func (k account) Resolve(authn.Resource) (authn.Authenticator, error) { return k.Basic, nil }

// account logs in everywhere.
type account struct{ *authn.Basic }

// guarded is a registry with a token server, and what both were asked.
type guarded struct {
	*registry
	host string

	mu     sync.Mutex // guards all below
	scopes []string
	// passing is how often a token to push is still refused to whoever asks.
	passing int
	tokens  []string
}

// newGuarded starts them; the server answers reader with a status where it asks
// for more than it may, or with zero grants less.
func newGuarded(t *testing.T, refusal int) *guarded {
	t.Helper()
	tokens, err := tokentest.New(t.TempDir(), map[string]tokentest.Account{
		user: {Password: password}, reader.Username: {Password: reader.Password, ReadOnly: true, Refusal: refusal},
	})
	if err != nil {
		t.Fatal(err)
	}
	g, mux := &guarded{}, http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	g.host = strings.TrimPrefix(server.URL, "http://")
	g.registry = newRegistry(t, func(c *configuration.Configuration) {
		c.Auth = configuration.Auth{"token": tokens.Parameters(server.URL + "/token")}
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if g.refuses(strings.Join(r.URL.Query()["scope"], " ")) {
			w.WriteHeader(refusal)
			return
		}
		answer := httptest.NewRecorder()
		tokens.ServeHTTP(answer, r)
		g.issued(answer.Body.Bytes())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
	mux.Handle("/", g.registry)
	return g
}

// refuses takes in what a token is asked for, and tells whether it is refused in passing.
func (g *guarded) refuses(scopes string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.scopes = append(g.scopes, scopes)
	if g.passing == 0 || !strings.Contains(scopes, "push") {
		return false
	}
	g.passing--
	return true
}

func (g *guarded) issued(answer []byte) {
	var issued struct{ Token string }
	if json.Unmarshal(answer, &issued) == nil && issued.Token != "" {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.tokens = append(g.tokens, issued.Token)
	}
}

// fail makes the server refuse the next tokens to push.
func (g *guarded) fail(times int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passing = times
}

// asked are the scopes that tokens were asked for since it was asked last.
func (g *guarded) asked() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer func() { g.scopes = nil }()
	return g.scopes
}

// benchOf is that of a new run with an account, on a machine that knows nothing.
func benchOf(t *testing.T, of *authn.Basic) *bench {
	t.Helper()
	b := newBench(t, t.TempDir())
	b.client.Keychain = account{of}
	return b
}

// Google's token server refuses who may only pull a token to push, and gives none
// to pull in its place (GoogleContainerTools/kaniko#1256). What only reads goes
// on. What has to be pushed is asked for some times, for servers refuse in passing
// too; then it is an error, and the server is believed.
func TestAccountThatMayOnlyPull(t *testing.T) {
	for _, refusal := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		t.Run(fmt.Sprint(refusal), func(t *testing.T) {
			reg := newGuarded(t, refusal)
			dirs := map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())}
			there := step(t, reg.host+"/shop/composition-edge", "t", dirs)
			writer := benchOf(t, login)
			digest := writer.publish(t, writer.remote, there, writer.build(t, there))
			reg.asked()
			reg.requests()

			b := benchOf(t, reader)
			found, err := b.remote.Has(t.Context(), there.Reference)
			if err != nil || found != digest {
				t.Errorf("Has = %q, %v, want %s", found, err, digest)
			}
			ref := there.Reference
			ref.Digest = digest
			if err := b.remote.Verify(t.Context(), ref); err != nil {
				t.Errorf("Verify: %v", err)
			}
			same(t, "tokens asked for", reg.asked(), []string{
				"repository:shop/composition-edge:pull,push", "repository:shop/composition-edge:pull",
			})
			same(t, "requests", reg.requests(), []string{"HEAD manifest", "HEAD manifest", "GET manifest"})

			other := step(t, reg.host+"/shop/composition-back", "t", dirs)
			if _, err := b.remote.Has(t.Context(), other.Reference); !errors.Is(err, cache.ErrNotFound) {
				t.Errorf("Has of what is not there: %v", err)
			}
			same(t, "tokens asked for of another repository", reg.asked(), []string{"repository:shop/composition-back:pull"})
			same(t, "requests about another repository", reg.requests(), []string{"HEAD manifest"})

			err = b.remote.Prepare(t.Context(), other)
			wantReadOnly(t, err, reg.host, refusal)
			_, err = b.remote.Publish(t.Context(), other, b.build(t, other))
			wantReadOnly(t, err, reg.host, refusal)
			if !strings.Contains(fmt.Sprint(err), "publish "+reg.host+"/shop/composition-back:t: ") {
				t.Errorf("Publish: %v, want that it names the reference", err)
			}
			same(t, "tokens asked for to push", reg.asked(), slices.Repeat([]string{"repository:shop/composition-back:pull,push"}, 4))
			wantReadOnly(t, b.remote.Prepare(t.Context(), step(t, reg.host+"/shop/composition-third", "t", dirs)), reg.host, refusal)
			same(t, "tokens asked for of a third repository", reg.asked(), []string{
				"repository:shop/composition-third:pull,push", "repository:shop/composition-third:pull",
			})
			for _, request := range reg.requests() {
				if request != "HEAD manifest" {
					t.Errorf("%s was sent, which an account that reads has no token for", request)
				}
			}
		})
	}
}

// wantReadOnly wants an error that says who may not do what, and with what it was tried.
func wantReadOnly(t *testing.T, err error, host string, status int) {
	t.Helper()
	var refused *images.ReadOnlyError
	if !errors.As(err, &refused) {
		t.Fatalf("got %v, want a *ReadOnlyError", err)
	}
	for _, want := range []string{
		host + " lets this account read shop/composition-", ", and not write there: ",
		fmt.Sprint(host, " answers ", status), "tried with credentials of ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant it to say %q", err, want)
		}
	}
	if hint := refused.Hint(); !strings.Contains(hint, "docker login "+host) {
		t.Errorf("the hint is %q", hint)
	}
	if strings.Contains(err.Error(), reader.Password) {
		t.Error("the error has the password")
	}
}

// What machines share is read by who may only read; that it cannot be written is
// said once it has to be.
func TestSharedIndexOfAccountThatMayOnlyPull(t *testing.T) {
	for _, refusal := range []int{0, http.StatusUnauthorized, http.StatusForbidden} {
		t.Run(fmt.Sprint(refusal), func(t *testing.T) {
			reg := newGuarded(t, refusal)
			machineOf := func(of *authn.Basic) machine {
				index := cache.NewIndex(cache.OpenDB(filepath.Join(t.TempDir(), "db", "index.db"), nil))
				base := reg.host + "/shop"
				return machine{t, &images.SharedIndex{Remote: benchOf(t, of).remote, Index: index, Base: base, Pause: time.Millisecond}, base}
			}
			one := machineOf(login)
			one.publish(0, 3)
			one.write()

			two := machineOf(reader)
			two.read()
			same(t, "images known of the others", two.knows(0, 3), 3)
			two.write() // there is nothing to tell
			two.publish(3, 4)
			reg.requests()
			reg.asked()
			err := two.Write(t.Context())
			if err == nil || !strings.Contains(err.Error(), "the account may only read it, which `cache.write: never` states: "+reg.host+" answers 40") {
				t.Errorf("Write: %v", err)
			}
			if asked := reg.asked(); refusal != 0 && len(asked) > 4 {
				t.Errorf("tokens were asked for on and on: %q", asked)
			}
			if sent := strings.Count(fmt.Sprint(reg.requests()), "POST"); sent > 1 || refusal != 0 && sent > 0 {
				t.Errorf("%d uploads were begun", sent)
			}
		})
	}
}

// A token server that refuses in passing, and says no more, makes nobody read-only:
// what was refused to who only looked is asked for again when it is needed.
// docker/build-push-action#463
func TestRefusalInPassing(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			reg := newGuarded(t, status)
			b := benchOf(t, login)
			dirs := map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())}
			at := func(name string) orchestrator.Step { return step(t, reg.host+"/shop/"+name, "t", dirs) }
			look := func(name string) {
				t.Helper()
				if _, err := b.remote.Has(t.Context(), at(name).Reference); !errors.Is(err, cache.ErrNotFound) {
					t.Errorf("Has(%s): %v", name, err)
				}
			}
			reg.fail(1)
			look("one")
			look("two")
			same(t, "tokens asked for to look", reg.asked(), []string{
				"repository:shop/one:pull,push", "repository:shop/one:pull", "repository:shop/two:pull",
			})
			reg.fail(3)
			must(t, b.remote.Prepare(t.Context(), at("one")))
			same(t, "tokens asked for to push", reg.asked(), slices.Repeat([]string{"repository:shop/one:pull,push"}, 4))
			look("three")
			same(t, "tokens asked for once it has passed", reg.asked(), []string{"repository:shop/three:pull,push"})
			for _, name := range []string{"one", "two", "three"} {
				_, err := b.remote.Publish(t.Context(), at(name), b.build(t, at(name)))
				must(t, err)
			}
		})
	}
}

// Most token servers grant less than was asked for, which shows only when something
// is pushed: the registry says so, or the token does.
func TestTokenThatIsGoodForLess(t *testing.T) {
	for name, silent := range map[string]bool{"the registry says so": false, "only the token says so": true} {
		t.Run(name, func(t *testing.T) {
			reg := newGuarded(t, 0)
			reg.intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if silent {
					reg.app.ServeHTTP(reticent{w}, r)
				}
				return silent
			})
			s := step(t, reg.host+"/shop/composition-back", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
			b := benchOf(t, reader)
			_, err := b.remote.Publish(t.Context(), s, b.build(t, s))
			wantReadOnly(t, err, reg.host, http.StatusUnauthorized)
			same(t, "tokens asked for", reg.asked(), []string{"repository:shop/composition-back:pull,push"})
			for _, token := range reg.tokens {
				if strings.Contains(fmt.Sprint(err), token) {
					t.Error("the error has the token")
				}
			}
		})
	}
}

// reticent does not say what is wrong with a token.
type reticent struct{ http.ResponseWriter }

func (w reticent) WriteHeader(status int) {
	challenge := w.Header().Get("WWW-Authenticate")
	w.Header().Set("WWW-Authenticate", strings.Replace(challenge, `,error="insufficient_scope"`, "", 1))
	w.ResponseWriter.WriteHeader(status)
}

// Who knows no password is not asked for one again and again: some lock out who is
// wrong too often.
func TestWrongPasswordIsTriedTwice(t *testing.T) {
	reg := newGuarded(t, 0)
	b := benchOf(t, &authn.Basic{Username: user, Password: "wrong"})
	for n := range 10 {
		ref := orchestrator.Reference{Repository: reg.host + "/shop/composition-edge", Tag: fmt.Sprint("t", n)}
		var answer *images.RegistryError
		if _, err := b.remote.Has(t.Context(), ref); !errors.As(err, &answer) || answer.Status != http.StatusUnauthorized {
			t.Errorf("Has: %v, want that the registry answers 401", err)
		}
	}
	same(t, "tokens asked for", reg.asked(), []string{
		"repository:shop/composition-edge:pull,push", "repository:shop/composition-edge:pull",
	})
}
