package buildkit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"toa.io/toa/templates"
	"toa.io/toa/test/corpus"
)

// parsed are the instructions of a Dockerfile, as engines read it.
func parsed(t *testing.T, r templates.Recipe) ([]string, error) {
	t.Helper()
	text, err := templates.Dockerfile(r)
	if err != nil {
		return nil, err
	}
	result, err := parser.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatalf("engines cannot read\n%s: %v", text, err)
	}
	var all []string
	for _, node := range result.AST.Children {
		if len(node.Heredocs) > 0 {
			t.Errorf("%q takes in lines that follow", node.Original)
		}
		all = append(all, strings.ToUpper(node.Value))
	}
	return all, nil
}

// Whatever a value holds, engines read the same instructions, or it is refused.
func FuzzInstructions(f *testing.F) {
	corpus.Add(f)
	for _, value := range []string{
		"plain", "two words", "a\nRUN evil", "a\rRUN evil", `"quoted"`, "it's", `\`, "# comment", "cat <<EOF", `cat <<"RUN evil"`,
		"<<<word", "$((1<<2))", "x AS y", "--platform=linux/arm64", "{{ .Base }}", "${HOME}", "3<< EOF", "'<<'EOF", "[\"a\"]", "a\\ \t", "\u2028", "<\\<EOF",
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, recipe := range []func(string) templates.Recipe{fuzzedComposition, fuzzedDependencies} {
			want, err := parsed(t, recipe("plain"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := parsed(t, recipe(value))
			if err == nil && !slices.Equal(got, want) {
				t.Errorf("with %q there are %q, want %q", value, got, want)
			}
		}
	})
}

func fuzzedComposition(value string) templates.Recipe {
	return templates.Recipe{
		Kind: "composition", Base: "scratch", Env: []string{"NAME=" + value}, Workdir: "/composition",
		Copies: []templates.Copy{{Label: "store-goods"}}, Cmd: "toa " + value,
	}
}

func fuzzedDependencies(value string) templates.Recipe {
	return templates.Recipe{
		Kind: "dependencies", Base: "scratch", Env: []string{"NAME=" + value}, Workdir: "/composition",
		NPM: templates.NPM{Registry: "r" + value, Proxy: "p" + value}, Arguments: []string{"TOKEN"},
		Runs: []templates.Run{{Line: "run " + value, Owner: value}}, Packages: []string{"package@" + value},
		Installs: []templates.Install{{Label: "store-goods", Locals: []templates.Local{{Name: value}}}},
	}
}
