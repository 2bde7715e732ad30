package arch_test

import (
	"slices"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// The module extension is for Bazel 7 and newer, and the rules run on 4.2 in
// tests. So it is run as Starlark: each tag makes the repository that it names.
func TestModuleExtensionMakesRepositories(t *testing.T) {
	const file = "../../bazel/extensions.bzl"
	var made []string
	repository := func(rule string) *starlark.Builtin {
		return keywords(rule, func(given map[string]starlark.Value) starlark.Value {
			made = append(made, rule+" "+text(given["name"]))
			return starlark.None
		})
	}
	var implementation starlark.Value
	nothing := keywords("nothing", func(map[string]starlark.Value) starlark.Value { return starlark.None })
	predeclared := starlark.StringDict{
		"attr": members(starlark.StringDict{"string": nothing, "string_list": nothing, "label_list": nothing}),
		"module_extension": keywords("module_extension", func(given map[string]starlark.Value) starlark.Value {
			implementation = given["implementation"]
			return starlark.None
		}),
		"tag_class": nothing,
	}
	thread := &starlark.Thread{Load: func(_ *starlark.Thread, module string) (starlark.StringDict, error) {
		if module != "//bazel:toolchain.bzl" {
			t.Errorf("extensions.bzl loads %s", module)
		}
		return starlark.StringDict{"toa_installed": repository("toa_installed"), "toa_prebuilt": repository("toa_prebuilt")}, nil
	}}
	if _, err := starlark.ExecFileOptions(&syntax.FileOptions{}, thread, file, nil, predeclared); err != nil {
		t.Fatal(err)
	}
	tag := func(name string) starlark.Value {
		none := starlark.NewList(nil)
		return members(starlark.StringDict{
			"name": starlark.String(name), "path": starlark.String(""), "sha256": starlark.String(""), "urls": none, "exec_compatible_with": none,
		})
	}
	tags := members(starlark.StringDict{
		"installed": starlark.NewList([]starlark.Value{tag("here")}),
		"prebuilt":  starlark.NewList([]starlark.Value{tag("amd64"), tag("arm64")}),
	})
	modules := starlark.NewList([]starlark.Value{members(starlark.StringDict{"tags": tags})})
	_, err := starlark.Call(thread, implementation, starlark.Tuple{members(starlark.StringDict{"modules": modules})}, nil)
	if want := []string{"toa_installed here", "toa_prebuilt amd64", "toa_prebuilt arm64"}; err != nil || !slices.Equal(made, want) {
		t.Errorf("the extension made %q, %v, want %q", made, err, want)
	}
}

func members(of starlark.StringDict) starlark.Value {
	return starlarkstruct.FromStringDict(starlarkstruct.Default, of)
}

// keywords wraps a function of keyword arguments.
func keywords(name string, call func(map[string]starlark.Value) starlark.Value) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		given := map[string]starlark.Value{}
		for _, pair := range kwargs {
			given[text(pair[0])] = pair[1]
		}
		return call(given), nil
	})
}
