package arch_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

var update = flag.Bool("update", false, "rewrite the list of repositories in MODULE.bazel")

const (
	goMod       = "../../go.mod"
	moduleBazel = "../../MODULE.bazel"
)

// Bazel takes versions from go.mod, but what the BUILD files may name is a list
// of its own. Bazel itself is nowhere to ask, so the file is run as Starlark.
func TestModuleBazelNamesTheRequirements(t *testing.T) {
	want := repositories(withoutModules(requirements(t)))
	if *update {
		rewrite(t, want)
	}
	module := evaluate(t)
	if got := module.repos["go_deps"]; !slices.Equal(got, want) {
		t.Errorf("MODULE.bazel uses %q,\nwant %q: run go test ./internal/arch -update", got, want)
	}
	for _, extension := range []string{"go_deps", "go_sdk"} {
		if from := module.tags[extension+".from_file"]["go_mod"]; from != "//:go.mod" {
			t.Errorf("%s.from_file(go_mod = %q), want //:go.mod, so that versions are stated once", extension, from)
		}
	}
}

// What is a module of Bazel too comes from there: gazelle makes no repository of
// it. Then the version is stated twice, and both must be the same.
func TestModuleBazelHasVersionsOfGoMod(t *testing.T) {
	module := evaluate(t)
	versions := map[string]string{}
	for _, r := range requirements(t) {
		versions[r.path] = r.version
	}
	for path, name := range bazelModules {
		if got, want := "v"+module.deps[name]["version"], versions[path]; got != want {
			t.Errorf("MODULE.bazel has %s %s, go.mod has %s %s", name, got, path, want)
		}
	}
}

// One set of BUILD files serves Bazel with and without modules because the
// repositories keep the names from before modules.
func TestModuleBazelKeepsRepositoryNames(t *testing.T) {
	module := evaluate(t)
	for name, want := range map[string]string{"rules_go": "io_bazel_rules_go", "gazelle": "bazel_gazelle"} {
		dep := module.deps[name]
		if dep["repo_name"] != want || dep["version"] == "" {
			t.Errorf("bazel_dep %s = %q, want a version and the repository name %s", name, dep, want)
		}
	}
}

// bazelModule is what a MODULE.bazel said.
type bazelModule struct {
	deps  map[string]map[string]string // bazel_dep by name: its attributes
	tags  map[string]map[string]string // "go_deps.from_file": its attributes
	repos map[string][]string          // use_repo by extension
}

func evaluate(t *testing.T) bazelModule {
	t.Helper()
	m := bazelModule{map[string]map[string]string{}, map[string]map[string]string{}, map[string][]string{}}
	predeclared := starlark.StringDict{
		"module":        builtin("module", func([]string, map[string]string) starlark.Value { return starlark.None }),
		"use_extension": builtin("use_extension", func(args []string, _ map[string]string) starlark.Value { return &extension{args[1], m} }),
		"bazel_dep": builtin("bazel_dep", func(_ []string, attributes map[string]string) starlark.Value {
			m.deps[attributes["name"]] = attributes
			return starlark.None
		}),
		"use_repo": builtin("use_repo", func(args []string, _ map[string]string) starlark.Value {
			m.repos[args[0]] = append(m.repos[args[0]], args[1:]...)
			return starlark.None
		}),
	}
	thread := &starlark.Thread{Name: t.Name()}
	if _, err := starlark.ExecFileOptions(&syntax.FileOptions{}, thread, moduleBazel, nil, predeclared); err != nil {
		t.Fatal(err)
	}
	return m
}

// extension is a module extension: each attribute of it is a tag that is
// called with attributes of its own.
type extension struct {
	name   string
	module bazelModule
}

func (e *extension) String() string        { return e.name }
func (e *extension) Type() string          { return "extension" }
func (e *extension) Freeze()               {}
func (e *extension) Truth() starlark.Bool  { return true }
func (e *extension) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable: %s", e.name) }
func (e *extension) AttrNames() []string   { return nil }

func (e *extension) Attr(name string) (starlark.Value, error) {
	return builtin(name, func(_ []string, attributes map[string]string) starlark.Value {
		e.module.tags[e.name+"."+name] = attributes
		return starlark.None
	}), nil
}

// builtin wraps a function of strings.
func builtin(name string, call func([]string, map[string]string) starlark.Value) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		positional := make([]string, len(args))
		for i, arg := range args {
			positional[i] = text(arg)
		}
		named := map[string]string{}
		for _, pair := range kwargs {
			named[text(pair[0])] = text(pair[1])
		}
		return call(positional, named), nil
	})
}

func text(v starlark.Value) string {
	if s, ok := starlark.AsString(v); ok {
		return s
	}
	return v.String()
}

// bazelModules are modules of Go that are modules of Bazel too.
var bazelModules = map[string]string{"github.com/bazelbuild/rules_go": "rules_go"}

// withoutModules are the paths of those that Bazel has by way of go.mod only.
func withoutModules(required []requirement) []string {
	var paths []string
	for _, r := range required {
		if bazelModules[r.path] == "" {
			paths = append(paths, r.path)
		}
	}
	return paths
}

type requirement struct{ path, version string }

// requirements lists the modules that go.mod requires directly.
func requirements(t *testing.T) []requirement {
	t.Helper()
	source, err := os.ReadFile(goMod)
	if err != nil {
		t.Fatal(err)
	}
	var direct []requirement
	for _, match := range regexp.MustCompile(`(?m)^(?:require)?\s+([\w.-]+\.[\w.-]+\S*) (v\S+)(.*)$`).FindAllStringSubmatch(string(source), -1) {
		if !strings.Contains(match[3], "// indirect") {
			direct = append(direct, requirement{match[1], match[2]})
		}
	}
	return direct
}

var notWord = regexp.MustCompile(`[^a-z0-9_]`)

// repositories are the names under which gazelle makes modules known: the host
// backwards, then the path.
func repositories(modules []string) []string {
	names := make([]string, 0, len(modules))
	for _, module := range modules {
		host, rest, _ := strings.Cut(strings.ToLower(module), "/")
		labels := strings.Split(host, ".")
		slices.Reverse(labels)
		names = append(names, notWord.ReplaceAllString(path.Join(strings.Join(labels, "_"), rest), "_"))
	}
	slices.Sort(names)
	return names
}

func TestRepositories(t *testing.T) {
	got := repositories([]string{"go.yaml.in/yaml/v3", "github.com/google/go-containerregistry", "k8s.io/api"})
	want := []string{"com_github_google_go_containerregistry", "in_yaml_go_yaml_v3", "io_k8s_api"}
	if !slices.Equal(got, want) {
		t.Errorf("repositories = %q, want %q", got, want)
	}
}

func rewrite(t *testing.T, repos []string) {
	t.Helper()
	source, err := os.ReadFile(moduleBazel)
	if err != nil {
		t.Fatal(err)
	}
	var list bytes.Buffer
	list.WriteString("use_repo(\n    go_deps,\n")
	for _, repo := range repos {
		fmt.Fprintf(&list, "    %q,\n", repo)
	}
	list.WriteString(")")
	rewritten := regexp.MustCompile(`use_repo\(\s+go_deps,[^)]*\)`).ReplaceAllLiteral(source, list.Bytes())
	if err := os.WriteFile(moduleBazel, rewritten, 0o644); err != nil {
		t.Fatal(err)
	}
}
