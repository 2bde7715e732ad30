package main

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
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
	"lost":    faultproxy.Lost,
}

// injectFault makes all requests of a kind fail from now on; a lost answer is
// lost once.
func injectFault(ts *testscript.TestScript, neg bool, args []string) {
	value, ok := proxies.Load(ts.Getenv("WORK"))
	if neg || !ok || len(args) != 2 || scriptFaults[args[1]] == nil {
		ts.Fatalf("usage: faults, then fault KIND unknown|500|limit|lost")
	}
	rule := faultproxy.Rule{Kind: faultproxy.Kind(args[0]), From: 1, Fault: scriptFaults[args[1]]}
	if args[1] == "lost" {
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
