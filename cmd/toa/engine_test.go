package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"toa.io/toa/internal/enginetest"
	"toa.io/toa/internal/npmtest"
)

// TestEngineScripts are the promises of the command line about images that
// something has to run in, with a real BuildKit.
func TestEngineScripts(t *testing.T) {
	t.Parallel()
	runEngineScripts(t, "testdata/engine")
}

// TestEnginePackages are those about packages that have something to run, with
// a registry of npm's beside the engine.
func TestEnginePackages(t *testing.T) {
	t.Parallel()
	registry := npmtest.Start(t)
	runEngineScripts(t, "testdata/engine/npm", "NPM_REGISTRY="+registry.URL, "NPM_TOKEN="+registry.Token)
}

func runEngineScripts(t *testing.T, dir string, variables ...string) {
	params := scripts(t, dir, append(variables, "ENGINE="+enginetest.BuildKit(t))...)
	params.Cmds = map[string]func(*testscript.TestScript, bool, []string){
		"registry": startRegistry,
		"requests": countRequests,
		"copydir":  copyDirectory,
		"replace":  replaceText,
		"base":     pushBase(t),
	}
	testscript.Run(t, params)
}

// pushBase pushes a base image to the script's registry, and sets BASE: one with
// a shell, or with node too.
func pushBase(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		switch {
		case neg:
			ts.Fatalf("usage: registry, then base [node]")
		case len(args) == 0:
			ts.Setenv("BASE", enginetest.Base(t, ts.Getenv("REGISTRY")))
		case args[0] == "node":
			ts.Setenv("BASE", enginetest.Node(t, ts.Getenv("REGISTRY")))
		}
	}
}
