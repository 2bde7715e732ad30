package cli

import (
	"slices"
	"strings"
	"testing"
)

// What a cache is inspected with is read of the context alone, wherever else the
// workspace is wrong.
func TestInsecureRegistries(t *testing.T) {
	const manifest = "components/orders/manifest.toa.yaml"
	for name, row := range map[string]struct {
		files map[string]string
		want  []string
		says  string
	}{
		"no workspace":          {},
		"a wrong manifest":      {map[string]string{"context.toa.yaml": "name: shop\nregistry:\n  insecure: [one.test]\n", manifest: "names: orders\n"}, []string{"one.test"}, ""},
		"of an environment":     {map[string]string{"context.toa.yaml": "name: shop\nregistry:\n  insecure@lab: [two.test]\n"}, []string{"two.test"}, ""},
		"a wrong context, said": {map[string]string{"context.toa.yaml": "name: shop\nregister:\n  insecure: [one.test]\n"}, nil, "context.toa.yaml:2:1: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shop{t: t, dir: t.TempDir()}
			for rel, content := range row.files {
				s.put(rel, content)
			}
			var said strings.Builder
			g := &globals{path: s.dir, io: IO{Err: &said, Env: func(name string) string { return map[string]string{"TOA_ENV": "lab"}[name] }}}
			if got := g.insecure(); !slices.Equal(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if !strings.Contains(said.String(), row.says) || row.says == "" && said.Len() > 0 {
				t.Errorf("said %q, want %q", said.String(), row.says)
			}
		})
	}
}
