package main

import (
	"os/exec"
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
	params := scripts(t, "testdata/npm", "NPM_REGISTRY="+registry.URL, "NPM_TOKEN="+registry.Token)
	params.Cmds = map[string]func(*testscript.TestScript, bool, []string){"replace": replaceText}
	testscript.Run(t, params)
}
