package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/token"
	"github.com/distribution/distribution/v3/registry/handlers"
	"github.com/rogpeppe/go-internal/testscript"
	"toa.io/toa/internal/tokentest"
)

// accounts are those of the registry that startTokens starts.
var accounts = map[string]tokentest.Account{
	"writer": {Password: "canary-writes"},
	"reader": {Password: "canary-reads", ReadOnly: true},
	"strict": {Password: "canary-strict", ReadOnly: true, Refusal: http.StatusForbidden},
}

// startTokens starts a registry in memory that takes tokens, and the server that
// issues them to the accounts, and puts the registry's address into $REGISTRY.
func startTokens(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: tokens")
	}
	tokens, err := tokentest.New(ts.Getenv("WORK"), accounts)
	ts.Check(err)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	host := server.Listener.Addr().String()
	config := &configuration.Configuration{
		Storage: configuration.Storage{"inmemory": {}},
		Auth:    configuration.Auth{"token": tokens.Parameters("http://" + host + "/token")},
	}
	config.Log.Level = "error"
	config.Log.AccessLog.Disabled = true
	ctx, cancel := context.WithCancel(context.Background())
	mux.Handle("/token", tokens)
	mux.Handle("/", handlers.NewApp(ctx, config))
	ts.Defer(func() { server.Close(); cancel() })
	ts.Setenv("REGISTRY", host)
}

// login writes the credentials of an account for $REGISTRY where Docker has them.
func login(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || accounts[args[0]].Password == "" {
		ts.Fatalf("usage: tokens, then login writer|reader|strict")
	}
	auth := base64.StdEncoding.EncodeToString([]byte(args[0] + ":" + accounts[args[0]].Password))
	dir := filepath.Join(ts.Getenv("HOME"), ".docker")
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(os.WriteFile(filepath.Join(dir, "config.json"), fmt.Appendf(nil, `{"auths": {%q: {"auth": %q}}}`, ts.Getenv("REGISTRY"), auth), 0o600))
}
