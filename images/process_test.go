package images_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toa.io/toa/images"
	"toa.io/toa/internal/faultproxy"
	"toa.io/toa/internal/tokentest"
	"toa.io/toa/orchestrator"
)

// registryProcess starts the distribution registry that Debian has, on disk and
// with a password, and returns its address. More is added to its configuration.
func registryProcess(t *testing.T, auth, http string) string {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("docker-registry is not installed")
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close() // the process takes it
	dir := t.TempDir()
	files{
		"htpasswd": string(htpasswd(t)),
		"config.yml": fmt.Sprintf("version: 0.1\nlog: {level: error, accesslog: {disabled: true}}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %q%s}\nauth: %s\n",
			filepath.Join(dir, "data"), address, http, strings.ReplaceAll(auth, "DIR", dir)),
	}.write(t, dir)
	cmd := exec.CommandContext(t.Context(), program, "serve", filepath.Join(dir, "config.yml"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = connection.Close()
			return address
		}
		if time.Now().After(deadline) {
			t.Fatalf("docker-registry does not listen: %v", err)
		}
	}
}

const htpasswdAuth = "{htpasswd: {realm: test, path: DIR/htpasswd}}"

// passedOn is a proxy that leaves the client's idea of the host as it is. With
// roots it speaks TLS to the registry.
func passedOn(host string, roots *x509.CertPool) http.Handler {
	target := &url.URL{Scheme: "http", Host: host}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
	if roots != nil {
		target.Scheme = "https"
		proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	}
	return proxy
}

// certified is a part of a registry's configuration that gives it a certificate
// of example.com and of 127.0.0.1, and whom to trust for that.
func certified(t *testing.T) (http string, roots *x509.CertPool) {
	t.Helper()
	server, dir := httptest.NewUnstartedServer(nil), t.TempDir()
	server.StartTLS()
	t.Cleanup(server.Close)
	pair := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	encoded := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	files{"crt": encoded("CERTIFICATE", pair.Certificate[0]), "key": encoded("PRIVATE KEY", key)}.write(t, dir)
	roots = x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return fmt.Sprintf(", tls: {certificate: %s, key: %s}", filepath.Join(dir, "crt"), filepath.Join(dir, "key")), roots
}

// The faults that leave the most behind, with the registry that Debian has, which
// speaks TLS and wants a password.
func TestFaultsOfRegistryProcess(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(string) (front, direct http.Handler) {
		settings, roots := certified(t)
		behind := passedOn(registryProcess(t, htpasswdAuth, settings), roots)
		return behind, behind
	})
	worst := map[string]faultproxy.Fault{}
	for _, name := range []string{"lost", "reset", "cut", "503"} {
		worst[name] = faults[name]
	}
	matrix(t, s, worst, []int{1, 5}, faultproxy.HeadManifest, faultproxy.Post, faultproxy.PutBlob, faultproxy.PutManifest)
}

// Tokens of a server of its own, for the registry that Debian has.
func TestTokensOfRegistryProcess(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(host string) (front, direct http.Handler) {
		tokens := newTokenServer(t)
		behind := passedOn(registryProcess(t, fmt.Sprintf("{token: {realm: %q, service: %s, issuer: %s, rootcertbundle: %s}}",
			"http://"+host+"/token", tokentest.Service, tokentest.Issuer, tokens.Bundle), ""), nil)
		mux := http.NewServeMux()
		mux.Handle("/token", tokens)
		mux.Handle("/", behind)
		return mux, tokens.Grant(behind)
	})
	matrix(t, s, map[string]faultproxy.Fault{"401": faultproxy.Expired}, []int{1, 2, 5}, faultproxy.HeadManifest, faultproxy.Post, faultproxy.PutBlob, faultproxy.PutManifest)
}

// TLS with a certificate of one's own: refused where its authority is not known,
// spoken where it is.
func TestRegistryProcessWithTLS(t *testing.T) {
	t.Parallel()
	settings, roots := certified(t)
	address := registryProcess(t, htpasswdAuth, settings)
	s := step(t, "example.com/shop/composition-edge", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})

	b := newBench(t, t.TempDir())
	b.client.Keychain, b.client.Transport = keychain{}, &http.Transport{DialContext: dial(address)}
	var unreachable *images.UnreachableError
	if _, err := b.remote.Has(t.Context(), s.Reference); !errors.As(err, &unreachable) || !strings.Contains(unreachable.Hint(), "certificate of example.com") {
		t.Errorf("Has, not trusted: got %v", err)
	}
	trusting := &images.Client{Keychain: keychain{}, Transport: &http.Transport{
		DialContext: dial(address), TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}}
	to := &images.Remote{Client: trusting, Blobs: b.blobs}
	digest := b.publish(t, to, s, b.build(t, s))
	if err := to.Verify(t.Context(), orchestrator.Reference{Repository: s.Reference.Repository, Tag: "t", Digest: digest}); err != nil {
		t.Errorf("Verify: %v", err)
	}
}
