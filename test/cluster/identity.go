package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// The users that there are. The first may do everything; the second may do what
// a test grants, and has a kubeconfig context of this name.
const (
	admin    = "admin"
	deployer = "deployer"
)

// identity is how the parts of the cluster and its users know each other.
type identity struct {
	dir    string
	tokens map[string]string // by user
}

func newIdentity(dir string) (identity, error) {
	id := identity{dir: filepath.Join(dir, "identity"), tokens: map[string]string{admin: rand.Text(), deployer: rand.Text()}}
	if err := os.MkdirAll(id.dir, 0o700); err != nil {
		return id, fmt.Errorf("make directory: %w", err)
	}
	users := fmt.Sprintf("%s,%s,%[2]s,system:masters\n%s,%s,%[4]s\n", id.tokens[admin], admin, id.tokens[deployer], deployer)
	if err := os.WriteFile(id.tokenFile(), []byte(users), 0o600); err != nil {
		return id, fmt.Errorf("write tokens: %w", err)
	}
	return id, id.writeSigningKey()
}

func (id identity) tokenFile() string   { return filepath.Join(id.dir, "tokens.csv") }
func (id identity) signingFile() string { return filepath.Join(id.dir, "serviceaccounts.key") }

// certificateFile is written by the API server: it signs for itself.
func (id identity) certificateFile() string { return filepath.Join(id.dir, "apiserver.crt") }

// writeSigningKey makes the key that signs the tokens of service accounts.
func (id identity) writeSigningKey() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make signing key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode signing key: %w", err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(id.signingFile(), text, 0o600); err != nil {
		return fmt.Errorf("write signing key: %w", err)
	}
	return nil
}

// writeKubeconfig returns where it wrote. All contexts are the admin's but the
// deployer's own.
func (id identity) writeKubeconfig(server string, contexts []string) (string, error) {
	authority, err := os.ReadFile(id.certificateFile())
	if err != nil {
		return "", fmt.Errorf("read certificate: %w", err)
	}
	config := api.NewConfig()
	config.Clusters["test"] = &api.Cluster{Server: server, CertificateAuthorityData: authority}
	for user, token := range id.tokens {
		config.AuthInfos[user] = &api.AuthInfo{Token: token}
	}
	config.Contexts[deployer] = &api.Context{Cluster: "test", AuthInfo: deployer}
	for _, name := range contexts {
		config.Contexts[name] = &api.Context{Cluster: "test", AuthInfo: admin}
	}
	config.CurrentContext = contexts[0]
	path := filepath.Join(filepath.Dir(id.dir), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", fmt.Errorf("write kubeconfig: %w", err)
	}
	return path, nil
}
