package kubelet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// logs are what containers have written. The zero value is empty and ready.
type logs struct {
	mu   sync.Mutex // guards runs
	runs map[string]run
}

// run is what a container wrote in its latest run, and in the one before.
type run struct {
	pod, latest, previous string
	again                 bool // there was a run before
}

// start begins a run. What is written is written at once.
func (l *logs) start(pod *corev1.Pod, container, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs == nil {
		l.runs = map[string]run{}
	}
	key := pod.Namespace + "/" + pod.Name + "/" + container
	before, again := l.runs[key]
	again = again && before.pod == string(pod.UID)
	l.runs[key] = run{pod: string(pod.UID), latest: text, previous: before.latest, again: again}
}

// drop forgets a pod.
func (l *logs) drop(pod *corev1.Pod) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, r := range l.runs {
		if r.pod == string(pod.UID) {
			delete(l.runs, key)
		}
	}
}

// handler serves what the API server asks a kubelet for when someone reads logs.
func (l *logs) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		key := r.PathValue("namespace") + "/" + r.PathValue("pod") + "/" + r.PathValue("container")
		text, err := l.read(key, r.FormValue("previous") == "true")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, tail(text, r.FormValue("tailLines"))) // the reader is gone, or not
	})
	return mux
}

func (l *logs) read(key string, previous bool) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, found := l.runs[key]
	switch {
	case !found:
		return "", fmt.Errorf("container %q is waiting to start", key)
	case previous && !r.again:
		return "", fmt.Errorf("previous terminated container %q not found", key)
	case previous:
		return r.previous, nil
	}
	return r.latest, nil
}

// tail returns the last lines; all of them where count is no number.
func tail(text, count string) string {
	lines := strings.SplitAfter(text, "\n")
	if n, err := strconv.Atoi(count); err == nil && n >= 0 && n < len(lines)-1 {
		return strings.Join(lines[len(lines)-1-n:], "")
	}
	return text
}

// selfSigned is what a kubelet shows that nobody has certified: the API server
// does not look.
func selfSigned() (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make certificate: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, nil
}
