package templates_test

import (
	"strings"
	"testing"

	"toa.io/toa/templates"
)

func TestRuntimeDockerfile(t *testing.T) {
	recipe, err := templates.Runtime("1.0.0-alpha.306", []string{"linux/amd64"}, []string{"sha256:1"}, templates.NPM{Registry: "https://npm.test/it's"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := templates.Dockerfile(recipe)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"FROM node:24.14.0-alpine3.22\n",
		"ENV PATH=/toa/node_modules/.bin:$PATH\n",
		"npm install --prefix /toa --omit=dev",
		`--registry 'https://npm.test/it'\''s'`,
		"'@toa.io/runtime@1.0.0-alpha.306'",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("no %q in\n%s", line, got)
		}
	}
}

func TestRuntimeVersions(t *testing.T) {
	for version, good := range map[string]bool{
		"1.0.0": true, "1.0.0-alpha.306+build": true, "latest": true,
		"": false, "^1.0.0": false, "1 || 2": false, "1.0.0\nRUN evil": false, "file:../x": false, "-g": false,
	} {
		if _, err := templates.Runtime(version, nil, nil, templates.NPM{}); (err == nil) != good {
			t.Errorf("Runtime(%q): got %v", version, err)
		}
	}
}
