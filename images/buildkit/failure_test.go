package buildkit_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	controlapi "github.com/moby/buildkit/api/services/control"
	apitypes "github.com/moby/buildkit/api/types"
	"google.golang.org/grpc"
	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/images/buildkit"
	"toa.io/toa/internal/enginetest"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// A line that fails is named, with who asked for it and the end of what it said.
func TestFailingLine(t *testing.T) {
	t.Setenv("TOKEN", "canary-77aa01bc")
	b := newBench(t)
	step := b.dependencies(t, "one", "true", `for i in $(seq 30); do echo "line $i of $TOKEN"; done; exit 3`)
	step.Recipe.Arguments = []string{"TOKEN"}
	_, err := b.builder.Build(t.Context(), step, nil)
	var failed *buildkit.RunError
	if !errors.As(err, &failed) {
		t.Fatalf("Build: %v, want a *RunError", err)
	}
	if failed.Owner != "store.goods" || len(failed.Tail) != 20 || failed.Tail[19] != "line 30 of ***" {
		t.Errorf("owner %q, %d lines, the last %q", failed.Owner, len(failed.Tail), failed.Tail[len(failed.Tail)-1])
	}
	for _, want := range []string{"exit code: 3", "for i in $(seq 30)", "line 11 of ***", "store.goods"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	for _, not := range []string{"canary-77aa01bc", "line 10 of", "--mount"} {
		if strings.Contains(err.Error(), not) {
			t.Errorf("the error holds %q: %v", not, err)
		}
	}
}

func TestMissingCommand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.builder.Build(t.Context(), b.dependencies(t, "one", "apk add curl"), nil)
	if !strings.Contains(hint(err), "the base image lacks the command") {
		t.Errorf("Build: %v, hint %q", err, hint(err))
	}
}

func TestBaseWithoutPlatform(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step := b.composition(t, "one", map[string]string{"store-goods": goods(t)})
	step.Recipe.Platforms = []string{"linux/s390x"}
	_, err := b.builder.Build(t.Context(), step, nil)
	var missing *images.NoPlatformError
	if !errors.As(err, &missing) || missing.Platform != "linux/s390x" || hint(err) == "" {
		t.Errorf("Build: %v (hint %q), want a *NoPlatformError", err, hint(err))
	}
}

// What runs for a platform takes an engine that has it.
func TestNoEngineForPlatform(t *testing.T) {
	t.Parallel()
	b := newBenchAt(t, enginetest.BuildKit(t)+"?platform="+host)
	step := b.dependencies(t, "one", "true")
	step.Recipe.Base = enginetest.Base(t, b.registry, host, "linux/s390x")
	step.Recipe.Platforms = []string{"linux/s390x"}
	b.resolve(t, &step.Recipe)
	_, err := b.builder.Build(t.Context(), step, nil)
	var none *buildkit.NoEngineError
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "linux/s390x") || hint(err) == "" {
		t.Errorf("Build: %v (hint %q), want a *NoEngineError", err, hint(err))
	}
}

func TestUnreachable(t *testing.T) {
	for name, address := range map[string]string{
		"no socket":    "unix:///nowhere/at/all/buildkitd.sock",
		"no listener":  "tcp://127.0.0.1:1",
		"no container": "docker-container://surely-not-there",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", "/nowhere") // of docker
			b := newPlainBench(t, address)
			_, err := b.builder.Build(t.Context(), scratch(t, goods(t)), nil)
			var unreachable *buildkit.UnreachableError
			if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), address) || hint(err) == "" {
				t.Errorf("Build: %v (hint %q), want an *UnreachableError", err, hint(err))
			}
		})
	}
}

// newPlainBench is a bench without a registry.
func newPlainBench(t testing.TB, address string) *bench {
	t.Helper()
	blobs, err := cache.OpenBlobs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{blobs: blobs, native: &images.Native{Blobs: blobs}}
	b.builder = &buildkit.Builder{Images: b.native, Address: address, Observe: b.observe}
	return b
}

// scratch is an image of one directory that starts from nothing.
func scratch(t testing.TB, dir string) orchestrator.Step {
	t.Helper()
	return orchestrator.Step{
		ID: "composition/edge",
		Recipe: templates.Recipe{
			Kind: "composition", Base: templates.Scratch, Platforms: []string{host}, Workdir: "/composition",
			Copies: []templates.Copy{{Label: "store-goods"}}, Cmd: "toa compose *",
		},
		Sources:   []orchestrator.Source{source(t, "store-goods", dir)},
		Reference: orchestrator.Reference{Repository: "shop/edge", Tag: "one"},
	}
}

// One engine of several that does not answer stops nothing.
func TestOneOfSeveral(t *testing.T) {
	t.Parallel()
	b := newPlainBench(t, "unix:///nowhere/at/all, "+enginetest.BuildKit(t))
	b.build(t, b.builder, scratch(t, goods(t)))
}

// old is an engine that says another version of itself.
type old struct {
	controlapi.UnimplementedControlServer
	version string
}

func (o old) Info(context.Context, *controlapi.InfoRequest) (*controlapi.InfoResponse, error) {
	return &controlapi.InfoResponse{BuildkitVersion: &apitypes.BuildkitVersion{Version: o.version}}, nil
}

func TestTooOld(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v0.28.0", "v0.12.5-2-gabcdef", "0.0.0+unknown", "", "v1"} {
		t.Run(version, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := grpc.NewServer()
			controlapi.RegisterControlServer(server, old{version: version})
			go func() { _ = server.Serve(listener) }()
			defer server.Stop()
			b := newPlainBench(t, "tcp://"+listener.Addr().String())
			_, err = b.builder.Build(t.Context(), scratch(t, goods(t)), nil)
			var tooOld *buildkit.TooOldError
			if !errors.As(err, &tooOld) || tooOld.Version != version || hint(err) == "" {
				t.Errorf("Build: %v (hint %q), want a *TooOldError", err, hint(err))
			}
		})
	}
}

// An engine that dies leaves an error that says so, and no image.
func TestKilledEngine(t *testing.T) {
	t.Parallel()
	engine := enginetest.Start(t)
	b := newBenchAt(t, engine.Address)
	step := b.dependencies(t, "one", "echo running; sleep 60")
	b.builder.Observe = func(e orchestrator.Event) {
		if log, ok := e.(orchestrator.LogEvent); ok && log.Text == "running" {
			go engine.Kill()
		}
	}
	_, err := b.builder.Build(t.Context(), step, nil)
	var gone *buildkit.GoneError
	if !errors.As(err, &gone) || gone.Address != engine.Address || hint(err) == "" {
		t.Errorf("Build: %v (hint %q), want a *GoneError", err, hint(err))
	}
}

// A build that is given up returns promptly, with the reason.
func TestCancel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	reason := errors.New("enough of this")
	ctx, cancel := context.WithCancelCause(t.Context())
	b.builder.Observe = func(e orchestrator.Event) {
		if log, ok := e.(orchestrator.LogEvent); ok && log.Text == "running" {
			cancel(reason)
		}
	}
	began := time.Now()
	_, err := b.builder.Build(ctx, b.dependencies(t, "one", "echo running; sleep 300"), nil)
	if !errors.Is(err, reason) {
		t.Errorf("Build: %v, want %v", err, reason)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

// A file that is no longer what was hashed fails the image and is named.
func TestChangedFile(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(string) error{
		"content": func(path string) error { return os.WriteFile(path, []byte("exports.run = 2\n"), 0o600) },
		"size":    func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"gone":    os.Remove,
		"a link":  func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path)) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			dir := goods(t)
			step := b.composition(t, "one", map[string]string{"store-goods": dir})
			if err := change(filepath.Join(dir, "operations/transit.js")); err != nil {
				t.Fatal(err)
			}
			if _, err := b.builder.Build(t.Context(), step, nil); err == nil || !strings.Contains(err.Error(), "operations/transit.js") {
				t.Errorf("Build: %v, want an error that names the file", err)
			}
		})
	}
}

func TestBadCache(t *testing.T) {
	t.Parallel()
	b := newPlainBench(t, "unix:///nowhere")
	b.builder.Cache = "type=gha"
	_, err := b.builder.Build(t.Context(), scratch(t, goods(t)), nil)
	var bad *buildkit.CacheError
	if !errors.As(err, &bad) || hint(err) == "" {
		t.Errorf("Build: %v, want a *CacheError", err)
	}
}

// An engine in a container is reached through the container's own client.
func TestDockerContainer(t *testing.T) {
	address, client := enginetest.BuildKit(t), enginetest.Binary(t, "buildctl")
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho \"$*\" >>%s/log\nexec %s --addr %s dial-stdio\n", dir, client, address)
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	b := newPlainBench(t, "docker-container://buildx_buildkit_toa0")
	b.build(t, b.builder, scratch(t, goods(t)))
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil || !strings.Contains(string(log), "buildx_buildkit_toa0 buildctl dial-stdio") {
		t.Errorf("docker was called with %q (%v)", log, err)
	}
}

// An engine behind TLS gets our certificate, and must have one that our CA knows.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	socket := strings.TrimPrefix(enginetest.BuildKit(t), "unix://")
	dir, other := newAuthority(t), newAuthority(t)
	address := "tcp://" + forward(t, socket, dir)
	b := newPlainBench(t, address+"?tls="+dir)
	b.build(t, b.builder, scratch(t, goods(t)))
	for name, query := range map[string]string{
		"another CA":       "?tls=" + other,
		"no certificate":   "?ca=" + dir + "/ca.pem",
		"another name":     "?tls=" + dir + "&name=elsewhere.example.com",
		"none at all":      "",
		"an unknown file":  "?ca=/nowhere/ca.pem",
		"wrong client key": "?ca=" + dir + "/ca.pem&cert=" + other + "/cert.pem&key=" + other + "/key.pem",
	} {
		t.Run(name, func(t *testing.T) {
			b := newPlainBench(t, address+query)
			_, err := b.builder.Build(t.Context(), scratch(t, goods(t)), nil)
			var unreachable *buildkit.UnreachableError
			if !errors.As(err, &unreachable) {
				t.Errorf("Build: %v, want an *UnreachableError", err)
			}
		})
	}
}

// newAuthority writes a CA and one certificate of it for both sides.
func newAuthority(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	caKey, leafKey := newKey(t), newKey(t)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	key, err := x509.MarshalECPrivateKey(leafKey)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, dir, "ca.pem", "CERTIFICATE", sign(t, ca, ca, caKey, caKey))
	writePEM(t, dir, "cert.pem", "CERTIFICATE", sign(t, leaf, ca, leafKey, caKey))
	writePEM(t, dir, "key.pem", "EC PRIVATE KEY", key)
	return dir
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, one, by *x509.Certificate, key, with *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, one, by, &key.PublicKey, with)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func writePEM(t *testing.T, dir, name, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// forward is an address with TLS in front of a socket.
func forward(t *testing.T, socket, dir string) string {
	t.Helper()
	certificate, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(text)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go splice(conn, socket)
		}
	}()
	return listener.Addr().String()
}

func splice(conn net.Conn, socket string) {
	defer func() { _ = conn.Close() }()
	to, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	go func() { _, _ = io.Copy(to, conn); _ = to.Close() }()
	_, _ = io.Copy(conn, to)
}

func TestAddresses(t *testing.T) {
	t.Setenv("BUILDKIT_TLS_DIR", "")
	for name, row := range map[string]struct {
		text, problem string
		want          []string
	}{
		"a socket":            {text: "unix:///run/buildkit/buildkitd.sock", want: []string{"unix:///run/buildkit/buildkitd.sock"}},
		"several":             {text: "unix:///a?platform=linux/amd64, ssh://me@far ,", want: []string{"unix:///a linux/amd64", "ssh://me@far"}},
		"platforms":           {text: "unix:///a?platform=linux/arm64&platform=linux/arm/v7", want: []string{"unix:///a linux/arm64 linux/arm/v7"}},
		"a pod":               {text: "kube-pod://buildkitd-0?namespace=ci&platform=linux/amd64", want: []string{"kube-pod://buildkitd-0?namespace=ci linux/amd64"}},
		"loopback":            {text: "tcp://127.0.0.1:1234", want: []string{"tcp://127.0.0.1:1234"}},
		"a trusted network":   {text: "tcp://buildkitd:1234?tls=off", want: []string{"tcp://buildkitd:1234"}},
		"TLS":                 {text: "tcp://buildkitd:1234?tls=/etc/buildkit", want: []string{"tcp://buildkitd:1234"}},
		"no TLS":              {text: "tcp://buildkitd:1234", problem: "in the clear"},
		"half a certificate":  {text: "tcp://buildkitd:1234?ca=a&cert=b", problem: "go together"},
		"nothing":             {text: " , ", problem: "there is none"},
		"another scheme":      {text: "http://buildkitd", problem: "its scheme is not one of"},
		"no scheme":           {text: "/run/buildkitd.sock", problem: "its scheme is not one of"},
		"no place":            {text: "docker-container://", problem: "names no place"},
		"a password":          {text: "tcp://me:canary@buildkitd:1?tls=off", problem: "a password in it"},
		"a query of nonsense": {text: "unix:///a?%zz", problem: "query cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := buildkit.ParseAddresses(row.text)
			var got []string
			for _, a := range all {
				got = append(got, strings.Join(append([]string{a.URL}, a.Platforms...), " "))
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("ParseAddresses(%q) = %q, want %q", row.text, got, row.want)
			}
			if row.problem == "" && err != nil || row.problem != "" && (err == nil || !strings.Contains(err.Error(), row.problem) || hint(err) == "") {
				t.Errorf("ParseAddresses(%q): %v, want %q", row.text, err, row.problem)
			}
		})
	}
}

// Whatever is typed, an address has one of the schemes and a place.
func FuzzAddresses(f *testing.F) {
	for _, text := range []string{"unix:///a", "tcp://[::1]:5?platform=a&platform=b,ssh://x", "tcp://a?tls=b", "://", "kube-pod://p?namespace=n", "%", "uniX:/0", "unix:/0?a=://"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := buildkit.ParseAddresses(text)
		if (err == nil) != (len(all) > 0) {
			t.Fatalf("%d addresses and %v", len(all), err)
		}
		for _, a := range all {
			scheme, place, ok := strings.Cut(a.URL, "://")
			if !ok || place == "" || scheme == "" || strings.Contains(place, "platform=") && !strings.Contains(text, "platform%3D") {
				t.Errorf("address %q of %q", a.URL, text)
			}
		}
	})
}
