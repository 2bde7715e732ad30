package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"toa.io/toa/internal/enginetest"
	"toa.io/toa/internal/npmtest"
)

// TestEngineScripts are the promises of the command line about images that
// something has to run in, with a real BuildKit.
func TestEngineScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, engineParams(t, "testdata/engine"))
}

// TestEnginePackages are those about packages that have something to run, with
// a registry of npm's beside the engine.
func TestEnginePackages(t *testing.T) {
	t.Parallel()
	params := engineParams(t, "testdata/engine/npm")
	registry := npmtest.Start(t)
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		env.Setenv("NPM_REGISTRY", registry.URL)
		env.Setenv("NPM_TOKEN", registry.Token)
		return setup(env)
	}
	testscript.Run(t, params)
}

func engineParams(t *testing.T, dir string) testscript.Params {
	engine := enginetest.BuildKit(t)
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TOA_CACHE_DIR", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("SHOP", absolute(t, "../../examples/shop"))
			env.Setenv("ENGINE", engine)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"registry": startRegistry,
			"requests": countRequests,
			"copydir":  copyDirectory,
			"replace":  replaceText,
			"base":     pushBase(t),
		},
	}
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
