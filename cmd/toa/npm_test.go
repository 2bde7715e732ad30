package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"toa.io/toa/internal/npmtest"
)

// TestNPMScripts are the promises of the command line about packages, with
// npm itself and a registry of its own that wants to know who asks.
func TestNPMScripts(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not on this machine")
	}
	registry := npmtest.Start(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/npm",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TOA_CACHE_DIR", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("NPM_REGISTRY", registry.URL)
			env.Setenv("NPM_TOKEN", registry.Token)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"replace": replaceText},
	})
}
