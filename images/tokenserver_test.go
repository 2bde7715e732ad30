package images_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/token"
)

// tokenServer issues tokens that the distribution registry takes: JSON web
// tokens with the certificate of the key that signed them.
type tokenServer struct {
	key    *ecdsa.PrivateKey
	chain  string // the certificate, base64 of DER
	bundle string // the file that has it as PEM
}

const tokenService, tokenIssuer = "registry.test", "toa-tests"

func newTokenServer(t testing.TB) *tokenServer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(t.TempDir(), "bundle.pem")
	if err := os.WriteFile(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return &tokenServer{key: key, chain: base64.StdEncoding.EncodeToString(der), bundle: bundle}
}

// configure makes a registry send its clients here.
func (s *tokenServer) configure(realm string) func(*configuration.Configuration) {
	return func(c *configuration.Configuration) {
		c.Auth = configuration.Auth{"token": configuration.Parameters{
			"realm": realm, "service": tokenService, "issuer": tokenIssuer, "rootcertbundle": s.bundle,
		}}
	}
}

// access is what a token is good for.
type access struct {
	Type    string   `json:"type"`
	Name    string   `json:"name"`
	Actions []string `json:"actions"`
}

// ServeHTTP gives who knows the password a token for what is asked for.
func (s *tokenServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, "wrong: %s", password)
		return
	}
	var all []access
	for _, scope := range r.URL.Query()["scope"] {
		kind, rest, _ := strings.Cut(scope, ":")
		name, actions, _ := strings.Cut(rest, ":")
		all = append(all, access{kind, name, strings.Split(actions, ",")})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"token": s.token(all), "expires_in": 300})
}

// grant lets every request to a registry through.
func (s *tokenServer) grant(to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/"), "/manifests/")
		name, _, _ = strings.Cut(name, "/blobs/")
		r.Header.Set("Authorization", "Bearer "+s.token([]access{{"repository", name, []string{"pull"}}}))
		to.ServeHTTP(w, r)
	})
}

// token makes a JSON web token. Nothing of it can fail but the test's own code.
func (s *tokenServer) token(all []access) string {
	now := time.Now().Unix()
	text := encoded(map[string]any{"typ": "JWT", "alg": "ES256", "x5c": []string{s.chain}}) + "." + encoded(map[string]any{
		"iss": tokenIssuer, "sub": user, "aud": tokenService, "jti": rand.Text(),
		"iat": now, "nbf": now - 10, "exp": now + 300, "access": all,
	})
	hash := sha256.Sum256([]byte(text))
	first, second, err := ecdsa.Sign(rand.Reader, s.key, hash[:])
	if err != nil {
		panic(err)
	}
	signature := append(first.FillBytes(make([]byte, 32)), second.FillBytes(make([]byte, 32))...)
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func encoded(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}
