package sources_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"toa.io/toa/internal/sources"
)

// A sandbox shows links to files; the workspace has files, with the modes that
// the list says, and the links that it names.
func TestStage(t *testing.T) {
	source, sandbox := t.TempDir(), t.TempDir()
	write(t, source, "context.toa.yaml", "name: shop", 0o644)
	write(t, source, "components/a/run.sh", "#!/bin/sh", 0o755)
	write(t, source, "out/tree/deep/b.js", "b", 0o555)
	mirror(t, source, sandbox)

	list := parse(t, lines("toa/sources/v1\tfiles\tshop\t.",
		"source\tcontext.toa.yaml\tcontext.toa.yaml",
		"program\tcomponents/a/run.sh\tcomponents/a/run.sh",
		"generated\tcomponents/a/tree\tout/tree",
		"link\tcomponents/a/link\trun.sh",
		"layout\tbase\tout/tree"))
	dir := filepath.Join(t.TempDir(), "staged")
	stage(t, list, dir, sandbox)
	want := map[string]string{
		"context.toa.yaml":            "-rw------- name: shop",
		"components/a/run.sh":         "-rwx------ #!/bin/sh",
		"components/a/tree/deep/b.js": "-rw------- b",
		"components/a/link":           "link run.sh",
		"base":                        "link " + filepath.Join(sandbox, "out/tree"),
	}
	if got := contents(t, dir); !maps.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// What is equal is left alone, so that nobody hashes it again.
func TestStageAgain(t *testing.T) {
	source := t.TempDir()
	write(t, source, "context.toa.yaml", "name: shop", 0o644)
	write(t, source, "a.js", "old", 0o644)
	list := parse(t, lines("toa/sources/v1\tfiles\tshop\t.", "source\tcontext.toa.yaml\tcontext.toa.yaml", "source\ta.js\ta.js"))
	dir := t.TempDir()
	write(t, dir, "left/over.js", "", 0o644)
	stage(t, list, dir, source)
	long := time.Unix(1e9, 0)
	for _, name := range []string{"context.toa.yaml", "a.js"} {
		if err := os.Chtimes(filepath.Join(dir, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	write(t, source, "a.js", "new", 0o644)
	stage(t, list, dir, source)
	if got := contents(t, dir); !maps.Equal(got, map[string]string{"context.toa.yaml": "-rw------- name: shop", "a.js": "-rw------- new"}) {
		t.Errorf("got %q", got)
	}
	for name, kept := range map[string]bool{"context.toa.yaml": true, "a.js": false} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.ModTime().Equal(long) != kept {
			t.Errorf("%s: left alone is %v, want %v (%v)", name, !kept, kept, err)
		}
	}
}

// A link of an earlier list must not lead files of the next out of the workspace.
func TestStageFollowsNoLink(t *testing.T) {
	source, outside, dir := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, source, "b.js", "b", 0o644)
	if err := os.Symlink(outside, filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	stage(t, parse(t, lines("toa/sources/v1\tfiles\tshop\t.", "generated\ta/b.js\tb.js")), dir, source)
	if got := contents(t, outside); len(got) > 0 {
		t.Errorf("outside there is %q", got)
	}
	if got := contents(t, dir); got["a/b.js"] != "-rw------- b" {
		t.Errorf("got %q", got)
	}
}

func TestStageRefuses(t *testing.T) {
	const head = "toa/sources/v1\tfiles\tshop\t."
	for _, test := range []struct {
		name, entry, want string
		modeless          bool
	}{
		{"executable, not declared", "source\trun.sh\trun.sh", "run.sh may be executed and is not declared so", false},
		{"declared, not executable", "program\ta.js\ta.js", "a.js is declared as executable and is not", false},
		{"link", "source\tlink.js\tlink.js", "link.js is a symbolic link, or below one", false},
		{"below a link", "source\tways/a.js\tways/a.js", "ways/a.js is a symbolic link, or below one", false},
		{"directory", "source\tdir\tdir", "dir is a directory", false},
		{"modes say nothing", "source\trun.sh\trun.sh", "", true},
		{"generated with any mode", "generated\trun.sh\trun.sh", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			source := t.TempDir()
			mode := fs.FileMode(0o644)
			if test.modeless {
				mode = 0o755
			}
			write(t, source, sources.ContextFile, "", mode)
			write(t, source, "run.sh", "", 0o755)
			write(t, source, "a.js", "", 0o644)
			write(t, source, "dir/a.js", "", 0o644)
			for name, target := range map[string]string{"link.js": "a.js", "ways": "dir"} {
				if err := os.Symlink(target, filepath.Join(source, name)); err != nil {
					t.Fatal(err)
				}
			}
			list := parse(t, lines(head, "source\tcontext.toa.yaml\tcontext.toa.yaml", test.entry))
			err := list.Stage(t.TempDir(), in(source))
			var wrong *sources.Error
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), test.want) || wrong.Hint() == ""):
				t.Errorf("Stage = %v, want an error with a hint and %q", err, test.want)
			}
		})
	}
}

// Whatever was there before, a staged workspace holds what its list names.
func TestStageIsWhatTheListNames(t *testing.T) {
	source, dir := t.TempDir(), filepath.Join(t.TempDir(), "staged")
	rapid.Check(t, func(r *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c/d", "c/e", "c/f/g", "h/i/j"}), 0, 6, rapid.ID).Draw(r, "names")
		text, want := []string{"toa/sources/v1\tfiles\tshop\t."}, map[string]string{}
		for i, name := range names {
			kind := rapid.SampledFrom([]string{"generated", "built", "link"}).Draw(r, "kind")
			from, data := fmt.Sprint(i), rapid.StringN(0, 3, -1).Draw(r, "data")
			if err := os.WriteFile(filepath.Join(source, from), []byte(data), 0o600); err != nil {
				r.Fatal(err)
			}
			text = append(text, kind+"\t"+name+"\t"+from)
			want[name] = map[string]string{"generated": "-rw------- " + data, "built": "-rwx------ " + data, "link": "link " + from}[kind]
		}
		list, err := sources.Parse([]byte(lines(text...)))
		if err != nil {
			r.Fatal(err)
		}
		if err := list.Stage(dir, in(source)); err != nil {
			r.Fatal(err)
		}
		if got := contents(r, dir); !maps.Equal(got, want) {
			r.Fatalf("got %q\nwant %q", got, want)
		}
	})
}

func in(dir string) sources.Locate {
	return func(from string) (string, error) { return filepath.Join(dir, from), nil }
}

func stage(t *testing.T, list sources.List, dir, source string) {
	t.Helper()
	if err := list.Stage(dir, in(source)); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, name, text string, mode fs.FileMode) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

// mirror shows the files of a directory as a sandbox does: by absolute links.
func mirror(t *testing.T, source, sandbox string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(contents(t, source))) {
		path := filepath.Join(sandbox, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(filepath.Join(source, name), path)); err != nil {
			t.Fatal(err)
		}
	}
}

// contents are the files and links of a directory. One without any is as good as none.
func contents(t interface{ Fatal(...any) }, dir string) map[string]string {
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if leads, err := os.Readlink(path); err == nil {
			found[rel] = "link " + leads
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		found[rel] = info.Mode().String() + " " + string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
