package images_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/bcrypt"
	"toa.io/toa/images"
)

func htpasswd(t *testing.T) []byte {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, "%s:%s\n", user, hash)
}

// dockerConfig makes the docker config of this test log in at host.
func dockerConfig(t *testing.T, host string) {
	t.Helper()
	dir := t.TempDir()
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	config := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, auth)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_CONFIG", dir)
}

// bearer puts a token server in front of a registry. Tokens are good for what
// they were asked for, and for a number of requests.
type bearer struct {
	mu     sync.Mutex // guards all
	tokens map[string]*token
	asked  []string
	uses   int
}

type token struct {
	scopes []string
	left   int
}

func (b *bearer) serve(t *testing.T, reg *registry) {
	server := httptest.NewServer(http.HandlerFunc(b.issue))
	t.Cleanup(server.Close)
	b.tokens = map[string]*token{}
	reg.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if b.allowed(r) {
			return false
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service="test",scope="ignored"`, reg.host))
		if r.URL.Path == "/token" {
			b.issue(w, r)
			return true
		}
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
}

func (b *bearer) issue(w http.ResponseWriter, r *http.Request) {
	if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, "wrong: %s", password)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	scopes := r.URL.Query()["scope"]
	b.asked = append(b.asked, strings.Join(scopes, " "))
	name := fmt.Sprint("token-", len(b.tokens))
	b.tokens[name] = &token{scopes: scopes, left: b.uses}
	_ = json.NewEncoder(w).Encode(map[string]string{"access_token": name})
}

func (b *bearer) allowed(r *http.Request) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	have := b.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	repository, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/"), "/blobs/")
	repository, _, _ = strings.Cut(repository, "/manifests/")
	if have == nil || have.left == 0 || !slices.Contains(have.scopes, "repository:"+repository+":pull,push") {
		return false
	}
	have.left--
	from := r.URL.Query().Get("from")
	return from == "" || slices.Contains(have.scopes, "repository:"+from+":pull")
}

func TestBearerTokens(t *testing.T) {
	for _, row := range []struct {
		name string
		uses int
		want int // requests of one push
	}{
		{"good for the push", 1000, 1 + 1 + 6},
		{"good for three requests", 3, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			reg := newRegistry(t)
			auth := &bearer{uses: row.uses}
			auth.serve(t, reg)
			dockerConfig(t, reg.host)
			b := newBench(t, t.TempDir())
			b.client = &images.Client{}
			b.remote = &images.Remote{Blobs: b.blobs, Client: b.client}
			dirs := map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())}
			one := step(t, reg.host+"/shop/composition-one", "t", dirs)
			two := step(t, reg.host+"/shop/composition-two", "t", dirs)
			b.publish(t, b.remote, one, b.build(t, one))
			if requests := reg.requests(); row.want > 0 {
				same(t, "requests: one refusal, one token, the push", len(requests), row.want)
			}
			b.publish(t, b.remote, two, b.build(t, two))
			same(t, "first scope", auth.asked[0], "repository:shop/composition-one:pull,push")
			same(t, "the second asks without being refused first", slices.Contains(auth.asked, "repository:shop/composition-two:pull,push"), true)
		})
	}
}

func TestRefusedCredentialsStaySecret(t *testing.T) {
	reg := newRegistry(t)
	auth := &bearer{uses: 10}
	auth.serve(t, reg)
	b := newBench(t, t.TempDir())
	s := step(t, reg.host+"/shop/composition-one", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
	_, err := b.remote.Has(t.Context(), s.Reference)
	if err == nil || strings.Contains(err.Error(), password) {
		t.Errorf("Has: got %v, want an error without the password", err)
	}
}

// A registry that sends an upload elsewhere gets no credentials there.
func TestCredentialsStayAtTheirHost(t *testing.T) {
	var leaked []string
	var mu sync.Mutex
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Authorization") != "" {
			leaked = append(leaked, r.URL.Path)
		}
		w.WriteHeader(http.StatusCreated)
	}))
	defer thief.Close()
	for _, way := range []string{"location", "redirect"} {
		t.Run(way, func(t *testing.T) {
			reg := newRegistry(t)
			reg.intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if strings.Contains(r.URL.Path, "/blobs/uploads/") {
					w.Header().Set("Location", thief.URL+"/taken")
					w.WriteHeader(map[string]int{"location": http.StatusAccepted, "redirect": http.StatusTemporaryRedirect}[way])
					return true
				}
				return false
			})
			dockerConfig(t, reg.host)
			b := newBench(t, t.TempDir())
			b.remote = &images.Remote{Blobs: b.blobs, Client: &images.Client{}}
			s := step(t, reg.host+"/shop/composition-one", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
			_, _ = b.remote.Publish(t.Context(), s, b.build(t, s))
			mu.Lock()
			defer mu.Unlock()
			if len(leaked) > 0 {
				t.Errorf("credentials went to another host: %v", leaked)
			}
		})
	}
}
