package templates_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toa.io/toa/templates"
	"toa.io/toa/test/corpus"
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

// mono has more members than an image may have layers.
func mono() templates.Recipe {
	r := composition()
	r.Cmd, r.Copies = "toa mono * --map /etc/toa/components.json", nil
	for i := range 65 {
		r.Copies = append(r.Copies, templates.Copy{Label: fmt.Sprintf("member-%d", i)})
	}
	return r
}

func dependencies() templates.Recipe {
	return templates.Recipe{
		Kind: "dependencies", Base: "ghcr.io/toa-io/runtime:1.0.0-alpha.306", Platforms: []string{"linux/amd64"},
		Env: []string{"NODE_ENV=production"}, Workdir: "/composition", Arguments: []string{"NPM_TOKEN", "TOKEN"},
		NPM: templates.NPM{Registry: "https://npm.example.com", Proxy: "http://it's.example.com"},
		Installs: []templates.Install{
			{Label: "store-goods", LockName: "package-lock.json", Config: "c0ffee", Scripts: "ignore"},
			{Label: "store-orders", Scripts: "run", Locals: []templates.Local{{Name: "@acme/shared", Digest: "c0ffee"}}},
		},
		Packages: []string{"@aws-sdk/client-s3@3.0.0"},
		Runs:     []templates.Run{{Line: "apk add --no-cache curl", Owner: "context"}, {Line: "make", Owner: "store.orders"}},
	}
}

// crowd has more installations than an image may have layers.
func crowd() templates.Recipe {
	r := templates.Recipe{Kind: "dependencies", Base: "scratch", Workdir: "/composition"}
	for i := range 65 {
		r.Installs = append(r.Installs, templates.Install{Label: fmt.Sprintf("member-%d", i), LockName: "package-lock.json"})
	}
	return r
}

func service() templates.Recipe {
	return templates.Recipe{
		Kind: "service", Base: "ghcr.io/toa-io/runtime:1.0.0-alpha.306", Platforms: []string{"linux/amd64"},
		Env: []string{"NODE_ENV=production"}, Workdir: "/service", Copies: []templates.Copy{{}},
		NPM:      templates.NPM{Registry: "https://npm.example.com", Proxy: "http://proxy.example.com"},
		Installs: []templates.Install{{Scripts: "run"}, {Label: "components/rates", Scripts: "run"}}, Packages: []string{"cloudinary@2.0.0"},
		Cmd: "toa serve . --map /etc/toa/components.json",
	}
}

// plain has build arguments that are no secrets.
func plain() templates.Recipe {
	r := dependencies()
	r.Plain, r.Arguments = true, []string{"CHANNEL", "STAGE"}
	return r
}

func TestDockerfiles(t *testing.T) {
	for name, recipe := range map[string]templates.Recipe{
		"composition": composition(), "mono": mono(), "dependencies": dependencies(), "plain": plain(), "crowd": crowd(), "service": service(),
	} {
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

// Builders may call secrets by IDs of their own: the lines that see them are
// otherwise the same.
func TestRenderCallsSecretsByID(t *testing.T) {
	got, err := templates.Render(dependencies(), func(secret string) string { return secret + "-7" })
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"id=NPM_TOKEN-7,env=NPM_TOKEN,", "id=npmrc.store-goods-7,target=/run/secrets/npmrc.store-goods,"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	plain, err := templates.Dockerfile(dependencies())
	if err != nil {
		t.Fatal(err)
	}
	if undone := strings.ReplaceAll(got, "-7,", ","); undone != plain {
		t.Errorf("without IDs it is\n%s\nwant\n%s", undone, plain)
	}
}

// What is missing, or would not stay in its place, is refused and named.
func TestRefused(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*templates.Recipe)
		want   string
	}{
		"no base":            {func(r *templates.Recipe) { r.Base = "" }, "no base image"},
		"no workdir":         {func(r *templates.Recipe) { r.Workdir = "" }, "no workdir"},
		"no command":         {func(r *templates.Recipe) { r.Kind, r.Cmd = "composition", "" }, "no command"},
		"unknown kind":       {func(r *templates.Recipe) { r.Kind = "other" }, "no template"},
		"a stage's name":     {func(r *templates.Recipe) { r.Base = "scratch AS other" }, "base"},
		"a flag for a base":  {func(r *templates.Recipe) { r.Base = "--platform=linux/s390x" }, "base"},
		"a variable in base": {func(r *templates.Recipe) { r.Base = "$BASE" }, "base"},
		"a relative workdir": {func(r *templates.Recipe) { r.Workdir = "composition" }, "workdir"},
		"an argument's flag": {func(r *templates.Recipe) { r.Arguments = []string{"A,required=false"} }, "build argument"},
		"no variable":        {func(r *templates.Recipe) { r.Env = []string{"NAME"} }, "variable"},
		"a label of two":     {func(r *templates.Recipe) { r.Installs[0].Label = "a b" }, "directory of packages"},
		"a list for command": {func(r *templates.Recipe) { r.Cmd = `["toa"]` }, "list"},
		"a blank line":       {func(r *templates.Recipe) { r.Runs[0].Line = " " }, "blank"},
		"a here-document":    {func(r *templates.Recipe) { r.Runs[0].Line = "cat <<EOF > /f" }, "here-document"},
		"a line break":       {func(r *templates.Recipe) { r.Runs[0].Line = "a\nb" }, "line break"},
		"a joined line":      {func(r *templates.Recipe) { r.Runs[0].Line = `a \ ` }, "backslash"},
		"a bad template":     {func(r *templates.Recipe) { r.Template = "FROM {{ .Nothing }}" }, "Nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			recipe := dependencies()
			row.change(&recipe)
			if got, err := templates.Dockerfile(recipe); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("Dockerfile: %v, want an error with %q\n%s", err, row.want, got)
			}
		})
	}
}

// Lines may do with < what makes no here-document.
func TestNoHereDocument(t *testing.T) {
	recipe := dependencies()
	recipe.Runs[0].Line = "bash -c 'cat <<<word' < /dev/null"
	if _, err := templates.Dockerfile(recipe); err != nil {
		t.Error(err)
	}
}

func TestVariables(t *testing.T) {
	recipe := composition()
	recipe.Env = []string{"PLAIN=a/b:1.0", "EMPTY=", `ODD=a "b" $c \d`}
	got, err := templates.Dockerfile(recipe)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ENV PLAIN=a/b:1.0\n", "ENV EMPTY=\"\"\n", `ENV ODD="a \"b\" \$c \\d"` + "\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestOwnTemplate(t *testing.T) {
	recipe := composition()
	recipe.Template = "FROM {{ .Base }}\nCMD {{ .Cmd }}\n"
	if got, err := templates.Dockerfile(recipe); err != nil || got != "FROM scratch\nCMD "+recipe.Cmd+"\n" {
		t.Errorf("Dockerfile = %q, %v", got, err)
	}
	keys := map[string]bool{}
	for _, text := range []string{"", "FROM {{ .Base }}\n", "FROM {{ .Base }} \n"} {
		recipe.Template = text
		var all strings.Builder
		recipe.Fields(func(label, value string) { fmt.Fprintf(&all, "%s=%s\n", label, value) })
		keys[all.String()] = true
	}
	if len(keys) != 3 {
		t.Errorf("%d of 3 templates are told apart by the recipe's fields", len(keys))
	}
}

func TestCheckTemplate(t *testing.T) {
	for text, want := range map[string]string{
		"FROM {{ .Base }}\n": "",
		"# made by hand\n\nFROM {{ .Base }}\n# syntax = x": "",
		"# syntax=example.com/frontend\nFROM scratch":      "another frontend",
		"#  SYNTAX = x\n":                 "another frontend",
		"# one\n# syntax=x\nFROM scratch": "another frontend",
		"FROM {{ .Base":                   "parse template",
		"RUN {{ nothing }}":               "nothing",
	} {
		err := templates.CheckTemplate(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("CheckTemplate(%q): %v, want %q", text, err, want)
		}
	}
}

func TestUnknownKindHasNoTemplate(t *testing.T) {
	if text := templates.Source("nothing"); text != "" {
		t.Errorf("template of nothing: %q", text)
	}
}

// Whatever a value holds, the Dockerfile has the same lines, or is refused.
func FuzzDockerfile(f *testing.F) {
	corpus.Add(f)
	for _, value := range []string{"plain", "two words", "a\nRUN evil", "a\rRUN evil", "{{ .Base }}", `"quoted"`, "it's", "\\", "# comment", "<<EOF", "<<<a"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, recipe := range []templates.Recipe{composition(), dependencies(), service()} {
			want, err := templates.Dockerfile(recipe)
			if err != nil {
				t.Fatal(err)
			}
			recipe.Base, recipe.Workdir, recipe.Cmd = "a"+value, "/"+value, "toa "+value
			recipe.Env, recipe.Arguments = []string{"NAME=" + value}, nil
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
