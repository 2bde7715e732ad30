package images_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/internal/faultproxy"
	"toa.io/toa/orchestrator"
)

// meter grants a number of manifests in each second, as Amazon's registry does.
type meter struct {
	mu      sync.Mutex // guards all
	granted []time.Time
	refused int
}

const perWindow, window = 10, 500 * time.Millisecond

func (m *meter) refuse(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "/manifests/") {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for len(m.granted) > 0 && now.Sub(m.granted[0]) > window {
		m.granted = m.granted[1:]
	}
	if len(m.granted) < perWindow {
		m.granted = append(m.granted, now)
		return false
	}
	m.refused++
	w.WriteHeader(http.StatusTooManyRequests)
	return true
}

// Of forty images that are pushed at once all land at a registry that takes ten
// manifests in half a second, and it is not asked much more than it grants.
// containerd/containerd#10447
func TestLimitOfRequestsSlowsThePushDown(t *testing.T) {
	reg := newRegistry(t)
	m := &meter{}
	reg.intercept(m.refuse)
	b := newBench(t, t.TempDir())
	b.publishAtOnce(t, reg.host, 40)
	if m.refused == 0 || m.refused > 120 {
		t.Errorf("%d manifests were refused, want some and three for each that landed at most", m.refused)
	}
}

// Whoever asks for a pause gets it, from all requests of the run.
// chainguard-images/images#173, markrussinovich/refchecker#67
func TestRetryAfterIsKept(t *testing.T) {
	for name, answer := range map[string]struct {
		status int
		header string
		body   string
	}{
		"429":                {429, "1", ""},
		"403 of GitHub":      {403, "1", `{"message":"You have exceeded a secondary rate limit"}`},
		"429 in words":       {429, "", `{"errors":[{"code":"TOOMANYREQUESTS","message":"retry-after: 1s, allowed: 2000/minute"}]}`},
		"503, of itself":     {503, "1", ""},
		"429 until a moment": {429, "date", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := newRegistry(t)
			var until time.Time
			early := 0
			reg.intercept(func(w http.ResponseWriter, r *http.Request) bool {
				reg.mu.Lock()
				defer reg.mu.Unlock()
				now := time.Now()
				if until.IsZero() && (r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "/manifests/")) {
					return false // others may be under way beside it
				}
				if !until.IsZero() {
					if now.Before(until.Add(-20 * time.Millisecond)) {
						early++
					}
					return false
				}
				until = now.Add(time.Second)
				switch answer.header {
				case "date": // whole seconds: up to one less
					w.Header().Set("Retry-After", now.Add(2*time.Second).UTC().Format(http.TimeFormat))
				case "":
				default:
					w.Header().Set("Retry-After", answer.header)
				}
				w.WriteHeader(answer.status)
				_, _ = w.Write([]byte(answer.body))
				return true
			})
			b := newBench(t, t.TempDir())
			s := step(t, reg.host+"/shop/composition-edge", "t", map[string]string{"a": files{"index.js": "1"}.write(t, t.TempDir())})
			b.publish(t, b.remote, s, b.build(t, s))
			if early > 0 {
				t.Errorf("%d requests came before the pause was over", early)
			}
		})
	}
}

// A pause that nobody wants to wait for is told, with its length.
func TestLongPauseIsAnError(t *testing.T) {
	reg := newRegistry(t)
	reg.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	})
	_, err := newBench(t, t.TempDir()).remote.Has(t.Context(), orchestrator.Reference{Repository: reg.host + "/shop/x", Tag: "t"})
	var answer *images.RegistryError
	if !errors.As(err, &answer) || !answer.Limited || !strings.Contains(err.Error(), "wait for 1h") || answer.Hint() == "" {
		t.Errorf("Has: got %v, want the pause that is asked for", err)
	}
	same(t, "requests", len(reg.requests()), 1)
}

// Forbidden is no limit, and is not tried again.
func TestForbiddenIsNotTriedAgain(t *testing.T) {
	reg := newRegistry(t)
	reg.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"errors":[{"code":"DENIED","message":"secondary"}]}`))
		return true
	})
	_, err := newBench(t, t.TempDir()).remote.Has(t.Context(), orchestrator.Reference{Repository: reg.host + "/shop/x", Tag: "t"})
	var answer *images.RegistryError
	if !errors.As(err, &answer) || answer.Limited {
		t.Errorf("Has: got %v, want 403", err)
	}
	same(t, "requests", len(reg.requests()), 1)
}

// sentBytes counts what is read of the bodies that are to be sent.
type sentBytes struct{ atomic.Int64 }

func (s *sentBytes) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		req = req.Clone(req.Context())
		req.Body = tallied{req.Body, s}
	}
	return patient.RoundTrip(req)
}

// patient waits for a registry's word on a slow machine too.
var patient = func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ExpectContinueTimeout = time.Minute
	return t
}()

type tallied struct {
	io.ReadCloser
	sum *sentBytes
}

func (c tallied) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.sum.Add(int64(n))
	return n, err
}

// pushLarge pushes a layer that is large enough to be announced first, and tells
// how often its size was sent.
func pushLarge(t *testing.T, reg *registry, b *bench, rules ...faultproxy.Rule) (times float64, err error) {
	t.Helper()
	p := faultproxy.Start(reg)
	t.Cleanup(p.Close)
	if reg.app == nil {
		tokens, mux := newTokenServer(t), http.NewServeMux()
		mux.Handle("/token", tokens)
		mux.Handle("/", newRegistry(t, tokens.configure("http://"+p.Host+"/token")))
		reg.app = mux
	}
	p.Inject(rules...)
	sent := &sentBytes{}
	b.client.Transport = sent
	random := make([]byte, 2<<20)
	fill(random)
	dirs := map[string]string{"a": files{"large": string(random)}.write(t, t.TempDir())}
	s := step(t, p.Host+"/shop/composition-edge", "t", dirs)
	image := b.build(t, s)
	if _, err = b.remote.Publish(t.Context(), s, image); err == nil && reg.host != "" {
		got := contents(t, reg.pull(t, reg.host+"/shop/composition-edge:t"))["composition/a/large"]
		same(t, "the layer arrives as it is", got == string(random), true)
	}
	return float64(sent.Load()) / float64(manifestOf(t, b, image.Digest()).Layers[0].Size), err
}

// fill makes bytes that do not compress, the same each time.
func fill(data []byte) {
	state := uint64(1)
	for i := range data {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		data[i] = byte(state)
	}
}

// A registry that turns a large upload away says so before it is sent.
func TestLargeLayerIsSentOnce(t *testing.T) {
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			reg := newRegistry(t)
			unread := func(_ *faultproxy.Proxy, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
			times, err := pushLarge(t, reg, newBench(t, t.TempDir()), faultproxy.Rule{Kind: faultproxy.PutBlob, From: 1, Count: 2, Fault: unread})
			if err != nil || times > 1.01 {
				t.Errorf("%v; the layer was sent %.2f times", err, times)
			}
		})
	}
}

// Where an upload breaks, the blob goes up again, and nothing else.
// regclient/regclient#69
func TestBrokenUploadOfLargeLayer(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faultproxy.Fault{
		"reset": faultproxy.Reset, "cut": faultproxy.Cut(1 << 20), "stall": faultproxy.Stall,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, t.TempDir())
			if name == "stall" {
				b.client.Stall = time.Minute // more than a registry takes for the layer on a busy machine
			}
			reg := newRegistry(t)
			times, err := pushLarge(t, reg, b, faultproxy.Rule{Kind: faultproxy.PutBlob, From: 1, Count: 1, Fault: fault})
			if err != nil || times > 2.01 {
				t.Errorf("%v; the layer was sent %.2f times", err, times)
			}
		})
	}
}

// A token that runs out while layers go up costs a token, not a layer.
// docker/buildx#324, GoogleContainerTools/jib#691
func TestTokenThatRunsOutBeforeALayer(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.client.Keychain = keychain{}
	times, err := pushLarge(t, &registry{}, b, faultproxy.Rule{Kind: faultproxy.PutBlob, From: 1, Count: 2, Fault: faultproxy.Expired})
	if err != nil || times > 1.01 {
		t.Errorf("%v; the layer was sent %.2f times", err, times)
	}
}

// A token is not used to its last moment.
func TestTokenIsRenewedInTime(t *testing.T) {
	reg := newRegistry(t)
	var asked atomic.Int32
	reg.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Path == "/token":
			asked.Add(1)
			_, _ = fmt.Fprint(w, `{"token":"x","expires_in":1}`)
		case r.Header.Get("Authorization") == "":
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+reg.host+`/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			return false
		}
		return true
	})
	b := newBench(t, t.TempDir())
	ref := orchestrator.Reference{Repository: reg.host + "/shop/x", Tag: "t"}
	deadline := time.Now().Add(30 * time.Second)
	for asked.Load() < 2 && time.Now().Before(deadline) {
		if _, err := b.remote.Has(t.Context(), ref); !errors.Is(err, cache.ErrNotFound) {
			t.Fatal(err)
		}
	}
	same(t, "tokens", asked.Load(), 2)
}
