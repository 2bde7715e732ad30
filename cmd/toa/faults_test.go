package main

import (
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	"toa.io/toa/internal/faultproxy"
)

var proxies sync.Map // work directory → *faultproxy.Proxy

// startFaults puts a proxy in front of $REGISTRY, which `fault` makes fail.
func startFaults(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: faults")
	}
	host := ts.Getenv("REGISTRY")
	p := faultproxy.Start(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: host})
		r.Out.Host = r.In.Host // uploads come here too
	}})
	ts.Defer(p.Close)
	proxies.Store(ts.Getenv("WORK"), p)
	ts.Setenv("REGISTRY", p.Host)
}

// scriptFaults are those that scripts inject.
var scriptFaults = map[string]faultproxy.Fault{
	"unknown": faultproxy.Status(http.StatusNotFound, `{"errors":[{"code":"NAME_UNKNOWN","message":"no such repository"}]}`),
	"500":     faultproxy.Status(http.StatusInternalServerError, ""),
	"limit":   faultproxy.Status(http.StatusTooManyRequests, "", "Retry-After", "3600"),
	"pause":   faultproxy.Status(http.StatusTooManyRequests, "", "Retry-After", "2"),
	"busy":    faultproxy.Status(http.StatusServiceUnavailable, "", "Retry-After", "2"),
	"1MiB":    faultproxy.Limit(1 << 20),
	"100KiB":  faultproxy.Limit(100 << 10),
	"page":    faultproxy.Status(http.StatusOK, "<html>please log in</html>", "Content-Type", "text/html"),
	"lost":    faultproxy.Lost,
	"stall":   faultproxy.Stall,
}

// passing are faults that strike once.
var passing = map[string]bool{"pause": true, "busy": true, "lost": true}

// injectFault makes all requests of a kind fail from now on, or the next one.
func injectFault(ts *testscript.TestScript, neg bool, args []string) {
	value, ok := proxies.Load(ts.Getenv("WORK"))
	if neg || !ok || len(args) != 2 || scriptFaults[args[1]] == nil {
		ts.Fatalf("usage: faults, then fault KIND %s", strings.Join(slices.Sorted(maps.Keys(scriptFaults)), "|"))
	}
	rule := faultproxy.Rule{Kind: faultproxy.Kind(args[0]), From: 1, Fault: scriptFaults[args[1]]}
	if passing[args[1]] {
		rule.Count = 1
	}
	value.(*faultproxy.Proxy).Inject(rule)
}

func healFaults(ts *testscript.TestScript, neg bool, args []string) {
	value, ok := proxies.Load(ts.Getenv("WORK"))
	if neg || !ok || len(args) != 0 {
		ts.Fatalf("usage: faults, then heal")
	}
	value.(*faultproxy.Proxy).Heal("")
}

// deleteChild deletes the image of the last platform of the index in a file.
func deleteChild(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: deletechild FILE")
	}
	reference := strings.TrimSpace(ts.ReadFile(args[0]))
	name, digest, _ := strings.Cut(reference, "@")
	host, repository, _ := strings.Cut(name[:strings.LastIndex(name, ":")], "/")
	var index manifest
	ts.Check(getJSON("http://"+host+"/v2/"+repository+"/manifests/"+digest, &index))
	if len(index.Manifests) == 0 {
		ts.Fatalf("%s is no index", reference)
	}
	child := name + "@" + index.Manifests[len(index.Manifests)-1].Digest
	ts.Check(os.WriteFile(ts.MkAbs("child"), []byte(child+"\n"), 0o644))
	deleteImage(ts, false, []string{"child"})
}
