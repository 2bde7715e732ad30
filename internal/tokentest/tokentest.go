// Package tokentest is a token server that the distribution registry trusts, for
// tests only. It knows accounts, of which some may only pull, and gives each a
// token for what it may do of what it asks for, as real ones do.
package tokentest

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
	"slices"
	"strings"
	"time"
)

// What registries are told of the server.
const (
	Service = "registry.test"
	Issuer  = "toa-tests"
)

// Account is who may log in.
type Account struct {
	Password string
	// ReadOnly accounts may pull and nothing else.
	ReadOnly bool
	// Refusal is the status that is answered to who asks for more than the account
	// may, as Google's server does with 403. Zero means to grant less, as the
	// specification of the distribution wants.
	Refusal int
}

// Server issues JSON web tokens with the certificate of the key that signed them.
type Server struct {
	// Bundle is the file that has the certificate as PEM.
	Bundle string

	accounts map[string]Account
	key      *ecdsa.PrivateKey
	chain    string // the certificate, base64 of DER
}

// New makes a server for the accounts, by name. Its bundle is in dir.
func New(dir string, accounts map[string]Account) (*Server, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make certificate: %w", err)
	}
	s := &Server{Bundle: filepath.Join(dir, "bundle.pem"), accounts: accounts, key: key, chain: base64.StdEncoding.EncodeToString(der)}
	if err := os.WriteFile(s.Bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		return nil, fmt.Errorf("write certificate: %w", err)
	}
	return s, nil
}

// Parameters are the registry's settings of auth "token"; realm is where the
// server listens.
func (s *Server) Parameters(realm string) map[string]any {
	return map[string]any{"realm": realm, "service": Service, "issuer": Issuer, "rootcertbundle": s.Bundle}
}

// access is what a token is good for.
type access struct {
	Type    string   `json:"type"`
	Name    string   `json:"name"`
	Actions []string `json:"actions"`
}

// ServeHTTP gives who knows a password a token. It quotes wrong ones, as some
// servers do.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	account, known := s.accounts[user]
	if !known || password != account.Password {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, "wrong: %s", password)
		return
	}
	var all []access
	for _, scope := range r.URL.Query()["scope"] {
		kind, rest, _ := strings.Cut(scope, ":")
		name, actions, _ := strings.Cut(rest, ":")
		asked := strings.Split(actions, ",")
		granted := account.granted(slices.Clone(asked))
		if account.Refusal != 0 && len(granted) < len(asked) {
			http.Error(w, `{"errors": [{"code": "DENIED"}]}`, account.Refusal)
			return
		}
		all = append(all, access{kind, name, granted})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"token": s.token(user, all), "expires_in": 300})
}

func (a Account) granted(actions []string) []string {
	return slices.DeleteFunc(actions, func(action string) bool { return a.ReadOnly && action != "pull" })
}

// Grant lets every request to a registry through that reads of a repository.
func (s *Server) Grant(to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/"), "/manifests/")
		name, _, _ = strings.Cut(name, "/blobs/")
		r.Header.Set("Authorization", "Bearer "+s.token("test", []access{{"repository", name, []string{"pull"}}}))
		to.ServeHTTP(w, r)
	})
}

// token makes a JSON web token. Nothing of it can fail but this code.
func (s *Server) token(user string, all []access) string {
	now := time.Now().Unix()
	text := encoded(map[string]any{"typ": "JWT", "alg": "ES256", "x5c": []string{s.chain}}) + "." + encoded(map[string]any{
		"iss": Issuer, "sub": user, "aud": Service, "jti": rand.Text(),
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
