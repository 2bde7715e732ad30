package templates_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toa.io/toa/templates"
)

var update = flag.Bool("update", false, "write golden files anew")

func composition() templates.Recipe {
	return templates.Recipe{
		Kind: "composition", Base: "scratch", Platforms: []string{"linux/amd64"},
		Env: []string{"NODE_ENV=production"}, Workdir: "/composition",
		Copies: []templates.Copy{{Label: "store-goods"}, {Label: "store-orders"}},
		Cmd:    "toa compose * --map /etc/toa/components.json",
	}
}

func dependencies() templates.Recipe {
	return templates.Recipe{
		Kind: "dependencies", Base: "ghcr.io/toa-io/runtime:1.0.0-alpha.306", Platforms: []string{"linux/amd64"},
		Env: []string{"NODE_ENV=production"}, Workdir: "/composition", Arguments: []string{"NPM_TOKEN", "TOKEN"},
		NPM: templates.NPM{Registry: "https://npm.example.com", Proxy: "http://it's.example.com"},
		Installs: []templates.Install{
			{Label: "store-goods", LockName: "package-lock.json", Scripts: "ignore"},
			{Label: "store-orders", Scripts: "run"},
		},
		Packages: []string{"@aws-sdk/client-s3@3.0.0"},
		Runs:     []templates.Run{{Line: "apk add --no-cache curl", Owner: "context"}, {Line: "make", Owner: "store.orders"}},
	}
}

func service() templates.Recipe {
	return templates.Recipe{
		Kind: "service", Base: "ghcr.io/toa-io/runtime:1.0.0-alpha.306", Platforms: []string{"linux/amd64"},
		Env: []string{"NODE_ENV=production"}, Workdir: "/service", Copies: []templates.Copy{{}},
		NPM:      templates.NPM{Registry: "https://npm.example.com", Proxy: "http://proxy.example.com"},
		Installs: []templates.Install{{Scripts: "run"}}, Packages: []string{"cloudinary@2.0.0"},
		Cmd: "toa serve . --map /etc/toa/components.json",
	}
}

func TestDockerfiles(t *testing.T) {
	for name, recipe := range map[string]templates.Recipe{"composition": composition(), "dependencies": dependencies(), "service": service()} {
		t.Run(name, func(t *testing.T) {
			got, err := templates.Dockerfile(recipe)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestUnknownKindHasNoTemplate(t *testing.T) {
	if text := templates.Source("nothing"); text != "" {
		t.Errorf("template of nothing: %q", text)
	}
}

// Whatever a value holds, the Dockerfile has the same instructions, or is
// refused.
func FuzzDockerfile(f *testing.F) {
	for _, value := range []string{"plain", "two words", "a\nRUN evil", "a\rRUN evil", "{{ .Base }}", `"quoted"`, "it's", "\\", "# comment"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, recipe := range []templates.Recipe{composition(), dependencies(), service()} {
			want, err := templates.Dockerfile(recipe)
			if err != nil {
				t.Fatal(err)
			}
			recipe.Base, recipe.Workdir, recipe.Cmd = value, value, value
			recipe.NPM = templates.NPM{Registry: value + "x", Proxy: value + "x"}
			if len(recipe.Runs) > 0 {
				recipe.Runs = []templates.Run{{Line: value, Owner: value}, {Line: value}}
			}
			got, err := templates.Dockerfile(recipe)
			if err == nil && (strings.Count(got, "\n") != strings.Count(want, "\n") || strings.Contains(got, "\\\n")) {
				t.Errorf("value %q adds a line or joins two:\n%s", value, got)
			}
		}
	})
}
