package faultproxy_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"toa.io/toa/internal/faultproxy"
)

// registry answers every request with its digest, and keeps how many came.
type registry struct{ came chan string }

func (r registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	r.came <- string(body)
	w.Header().Set("Docker-Content-Digest", "sha256:right")
	if req.Header.Get("Authorization") == "" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	_, _ = io.WriteString(w, "content")
}

func newProxy(t *testing.T) (*faultproxy.Proxy, registry) {
	t.Helper()
	next := registry{came: make(chan string, 16)}
	p := faultproxy.Start(next)
	t.Cleanup(p.Close)
	return p, next
}

type got struct {
	status       int
	body, digest string
	err          error
}

func send(t *testing.T, p *faultproxy.Proxy, method, path, body string) got {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+p.Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Basic x")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return got{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	return got{resp.StatusCode, string(raw), resp.Header.Get("Docker-Content-Digest"), err}
}

const manifest, upload = "/v2/shop/edge/manifests/t", "/v2/shop/edge/blobs/uploads/1"

func TestFaults(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	for _, row := range []struct {
		name, method, path, body string
		fault                    faultproxy.Fault
		want                     func(got) bool
		arrives                  bool
	}{
		{"EOF", "PUT", upload, "x", faultproxy.EOF, func(g got) bool { return errors.Is(g.err, io.EOF) }, false},
		{"lost", "PUT", upload, "x", faultproxy.Lost, func(g got) bool { return errors.Is(g.err, io.EOF) }, true},
		{"reset", "PUT", upload, large, faultproxy.Reset, broken, false},
		{"cut upload", "PUT", upload, large, faultproxy.Cut(1000), broken, false},
		{"cut answer", "GET", manifest, "", faultproxy.Cut(3), func(g got) bool { return g.body == "con" && errors.Is(g.err, io.ErrUnexpectedEOF) }, true},
		{"status", "GET", manifest, "", faultproxy.Status(503, "busy"), func(g got) bool { return g.status == 503 && g.body == "busy" }, false},
		{"expired", "GET", manifest, "", faultproxy.Expired, func(g got) bool { return g.status == 401 }, true},
		{"slow", "PUT", upload, "x", faultproxy.Slow(time.Millisecond), func(g got) bool { return g.status == 200 }, true},
		{"wrong digest", "GET", manifest, "", faultproxy.WrongDigest, func(g got) bool {
			return g.status == 200 && g.digest != "sha256:right" && g.body != "content"
		}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, next := newProxy(t)
			p.Inject(faultproxy.Rule{Repository: "shop/edge", From: 1, Count: 1, Fault: row.fault})
			if g := send(t, p, row.method, row.path, row.body); !row.want(g) {
				t.Errorf("got %+v (%v)", g, g.err)
			}
			if arrived := len(next.came) > 0; arrived != row.arrives {
				t.Errorf("the registry has had the request: %t, want %t", arrived, row.arrives)
			}
			if g := send(t, p, "GET", manifest, ""); g.status != 200 || g.body != "content" || g.digest != "sha256:right" {
				t.Errorf("the next one: %+v", g)
			}
		})
	}
}

func broken(g got) bool {
	return errors.Is(g.err, net.ErrClosed) || errors.Is(g.err, syscall.ECONNRESET) || errors.Is(g.err, syscall.EPIPE) || errors.Is(g.err, io.EOF)
}

func TestRulesStrikeWhatTheyName(t *testing.T) {
	p, _ := newProxy(t)
	p.Inject(
		faultproxy.Rule{Repository: "shop/edge", Kind: faultproxy.HeadManifest, From: 2, Count: 2, Fault: faultproxy.Status(500, "")},
		faultproxy.Rule{Kind: faultproxy.PutBlob, From: 1, Fault: faultproxy.Status(502, "")},
	)
	var statuses []int
	for range 4 {
		statuses = append(statuses, send(t, p, "HEAD", manifest, "").status)
	}
	if statuses[0] != 200 || statuses[1] != 500 || statuses[2] != 500 || statuses[3] != 200 {
		t.Errorf("HEAD: got %v, want the second and third struck", statuses)
	}
	for _, path := range []string{upload, "/v2/other/blobs/uploads/1"} {
		if g := send(t, p, "PUT", path, "four"); g.status != 502 {
			t.Errorf("PUT %s: got %d", path, g.status)
		}
	}
	if n := p.Struck("shop/edge"); n != 2 {
		t.Errorf("%d were struck, want 2", n)
	}
	p.Heal("")
	if g := send(t, p, "PUT", upload, "four"); g.status != 200 {
		t.Errorf("PUT after healing: got %d", g.status)
	}
	var sent int64
	for _, r := range p.Requests("shop/edge") {
		sent += r.Bytes
	}
	if all := p.Requests(""); len(all) != 7 || sent != 8 {
		t.Errorf("%d requests, %d bytes to shop/edge, want 7 and 8", len(all), sent)
	}
}

func TestStallEndsWithTheProxy(t *testing.T) {
	next := registry{came: make(chan string, 1)}
	p := faultproxy.Start(next)
	held := make(chan struct{})
	p.Inject(faultproxy.Rule{From: 1, Fault: faultproxy.CallAfter(func() { close(held) })})
	ended := make(chan got, 1)
	go func() { ended <- send(t, p, "PUT", upload, "x") }()
	<-held
	if body := <-next.came; body != "x" {
		t.Errorf("the registry got %q", body)
	}
	p.Close()
	if g := <-ended; g.err == nil {
		t.Errorf("got %+v, want an error", g)
	}
}

func TestKinds(t *testing.T) {
	p, _ := newProxy(t)
	for _, row := range []struct {
		method, path string
		want         faultproxy.Kind
		repository   string
	}{
		{"GET", "/v2/", faultproxy.Ping, ""},
		{"GET", "/token?service=x&scope=repository:a/b:pull", faultproxy.Token, "a/b"},
		{"HEAD", "/v2/a/b/blobs/sha256:1", faultproxy.HeadBlob, "a/b"},
		{"GET", "/v2/a/b/blobs/sha256:1", faultproxy.GetBlob, "a/b"},
		{"POST", "/v2/a/b/blobs/uploads/", faultproxy.Post, "a/b"},
		{"POST", "/v2/a/b/blobs/uploads/?mount=sha256:1&from=c", faultproxy.Mount, "a/b"},
		{"PATCH", "/v2/a/b/blobs/uploads/1", faultproxy.Patch, "a/b"},
		{"PUT", "/v2/a/b/blobs/uploads/1?digest=x", faultproxy.PutBlob, "a/b"},
		{"HEAD", "/v2/a/b/manifests/t", faultproxy.HeadManifest, "a/b"},
		{"GET", "/v2/a/b/manifests/t", faultproxy.GetManifest, "a/b"},
		{"PUT", "/v2/a/b/manifests/t", faultproxy.PutManifest, "a/b"},
		{"DELETE", "/v2/a/b/manifests/t", faultproxy.Other, "a/b"},
	} {
		before := len(p.Requests(""))
		send(t, p, row.method, row.path, "")
		if all := p.Requests(""); len(all) != before+1 || all[before].Kind != row.want || all[before].Repository != row.repository {
			t.Errorf("%s %s: got %+v, want %s of %q", row.method, row.path, all[before:], row.want, row.repository)
		}
	}
}

func TestLimit(t *testing.T) {
	p, _ := newProxy(t)
	p.Inject(faultproxy.Rule{From: 1, Fault: faultproxy.Limit(3)})
	for body, want := range map[string]int{"": 200, "abc": 200, "abcd": 413} {
		if g := send(t, p, "PUT", manifest, body); g.status != want {
			t.Errorf("a body of %d bytes: %d, want %d", len(body), g.status, want)
		}
	}
}
