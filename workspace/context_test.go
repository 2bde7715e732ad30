package workspace_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"toa.io/toa/workspace"
)

func TestReadContextNeedsNoComponents(t *testing.T) {
	files := fstest.MapFS{
		workspace.ContextFile:                 {Data: []byte("name: shop\nregistry:\n  insecure: [one.test]\n  insecure@lab: [two.test]\n")},
		"components/broken/manifest.toa.yaml": {Data: []byte("names: broken\n")},
	}
	for environment, want := range map[string][]string{"": {"one.test"}, "lab": {"two.test"}} {
		context, err := workspace.ReadContext(files, environment)
		if err != nil || !slices.Equal(context.Registry.Insecure, want) {
			t.Errorf("ReadContext in %q = %q, %v, want %q", environment, context.Registry.Insecure, err, want)
		}
	}
}

func TestReadContextSaysWhereItIsWrong(t *testing.T) {
	for name, row := range map[string]struct {
		files fstest.MapFS
		want  string
	}{
		"an unknown key": {fstest.MapFS{workspace.ContextFile: {Data: []byte("name: shop\nregister: {}\n")}}, "context.toa.yaml:2:1: unknown key"},
		"no file":        {nil, "context.toa.yaml: expected a context"},
	} {
		_, err := workspace.ReadContext(row.files, "")
		var all *workspace.Errors
		if !errors.As(err, &all) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want *Errors with %q", name, err, row.want)
		}
	}
}
