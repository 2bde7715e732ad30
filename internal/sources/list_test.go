package sources_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"toa.io/toa/internal/sources"
)

func TestParse(t *testing.T) {
	files := lines("toa/sources/v1\tfiles\tshop\tapps/shop",
		"source\tapps/shop/context.toa.yaml\tapps/shop/context.toa.yaml",
		"program\tapps/shop/components/a/run.sh\tapps/shop/components/a/run.sh",
		"generated\tapps/shop/components/a/list.json\tbazel-out/k8/bin/apps/shop/components/a/list.json",
		"link\tcomponents/a/link\t../b.txt",
		"layout\timages/base\tbazel-out/k8/bin/base",
		"finished\tbilling\tbazel-out/k8/bin/billing")
	list := parse(t, files)
	if list.Runfiles {
		t.Error("a list of files is one of runfiles")
	}
	want := []string{
		"source context.toa.yaml apps/shop/context.toa.yaml",
		"program components/a/run.sh apps/shop/components/a/run.sh",
		"generated components/a/list.json bazel-out/k8/bin/apps/shop/components/a/list.json",
		"link components/a/link ../b.txt",
		"layout images/base bazel-out/k8/bin/base",
		"finished .finished/billing bazel-out/k8/bin/billing",
	}
	if got := texts(list); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := list.Entries[5].Composition; got != "billing" {
		t.Errorf("the finished image is of composition %q, want billing", got)
	}
}

// Among runfiles every repository has a directory beside the main one's.
func TestParseRunfiles(t *testing.T) {
	list := parse(t, lines("toa/sources/v1\trunfiles\t_main\t.",
		"source\tcontext.toa.yaml",
		"layout\timages/base\t../images+/base"))
	want := []string{"source context.toa.yaml _main/context.toa.yaml", "layout images/base images+/base"}
	if got := texts(list); !list.Runfiles || !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	external := parse(t, lines("toa/sources/v1\trunfiles\t_main\t../shop+/apps", "source\t../shop+/apps/components/a/b.js"))
	if got, want := texts(external), []string{"source components/a/b.js shop+/apps/components/a/b.js"}; !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	const head = "toa/sources/v1\tfiles\tshop\tapps/shop"
	for _, test := range []struct{ name, list, want string }{
		{"another format", "toa/sources/v2\tfiles\tshop\t.", "it is no list"},
		{"another kind of places", "toa/sources/v1\turls\tshop\t.", "it is no list"},
		{"nothing", "", "it is no list"},
		{"unknown kind", lines(head, "socket\tapps/shop/a\ta"), "cannot read"},
		{"too few fields", lines(head, "source\tapps/shop/a"), "cannot read"},
		{"too many fields", lines("toa/sources/v1\trunfiles\tshop\t.", "source\ta\ta"), "cannot read"},
		{"outside", lines(head, "source\tapps/other/a\tapps/other/a"), "apps/other/a is outside of the workspace, which is in apps/shop"},
		{"another repository", lines("toa/sources/v1\tfiles\tshop\t.", "source\t../npm/a\texternal/npm/a"), "../npm/a is outside"},
		{"link outside", lines(head, "link\t../a\tb"), "../a is outside"},
		{"absolute", lines(head, "layout\t/etc\tb"), "/etc is outside"},
		{"the root itself", lines(head, "layout\t.\tb"), ". is outside"},
		{"twice", lines(head, "source\tapps/shop/a\tx", "link\ta\tb"), "a is there twice"},
		{"below a file", lines(head, "source\tapps/shop/a\tx", "source\tapps/shop/a/b\ty"), "a/b is below a, which is a source"},
		{"below a link", lines(head, "source\tapps/shop/a/b/c\ty", "link\ta\tx"), "a/b/c is below a, which is a link"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := sources.Parse([]byte(test.list))
			var wrong *sources.Error
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), test.want) || wrong.Hint() == "" {
				t.Errorf("Parse = %v, want an error with a hint and %q", err, test.want)
			}
		})
	}
}

// Whatever a list says, what is taken of it stays inside the workspace, and no
// path is there twice.
func FuzzParse(f *testing.F) {
	f.Add(lines("toa/sources/v1\tfiles\tshop\t.", "source\ta\tb", "link\tb/c\t../a", "layout\td\te"))
	f.Add(lines("toa/sources/v1\trunfiles\tshop\t../x/y", "generated\t../x/y/z", "finished\ta\t../b"))
	f.Fuzz(func(t *testing.T, text string) {
		list, err := sources.Parse([]byte(text))
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, e := range list.Entries {
			if !fs.ValidPath(e.Path) || e.Path == "." || seen[e.Path] {
				t.Errorf("%q was taken", e.Path)
			}
			seen[e.Path] = true
		}
	})
}

func lines(all ...string) string { return strings.Join(all, "\n") + "\n" }

func parse(t *testing.T, text string) sources.List {
	t.Helper()
	list, err := sources.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func texts(list sources.List) []string {
	var all []string
	for _, e := range list.Entries {
		all = append(all, string(e.Kind)+" "+e.Path+" "+e.From)
	}
	return all
}
