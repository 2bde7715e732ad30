package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"toa.io/toa/internal/enginetest"
)

// TestEngineScripts are the promises of the command line about images that
// something has to run in, with a real BuildKit.
func TestEngineScripts(t *testing.T) {
	engine := enginetest.BuildKit(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/engine",
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
			"base":     pushBase(t),
		},
	})
}

// pushBase pushes an image with a shell to the script's registry, and sets BASE.
func pushBase(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 0 {
			ts.Fatalf("usage: registry, then base")
		}
		ts.Setenv("BASE", enginetest.Base(t, ts.Getenv("REGISTRY")))
	}
}
