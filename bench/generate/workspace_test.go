package main

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheSameFlagsGiveTheSameBytes(t *testing.T) {
	one := write(t, Workspace{Components: 5, Files: 10, Members: 2, Seed: 7})
	two := write(t, Workspace{Components: 5, Files: 10, Members: 2, Seed: 7})
	if !maps.Equal(one, two) {
		t.Error("two workspaces of the same seed differ")
	}
	if other := write(t, Workspace{Components: 5, Files: 10, Members: 2, Seed: 8}); maps.Equal(one, other) {
		t.Error("two workspaces of different seeds are equal")
	}
}

func TestEveryComponentHasItsFiles(t *testing.T) {
	files := write(t, Workspace{Components: 7, Files: 10, Members: 4, Seed: 1})
	if got, want := len(files), 7*10+1; got != want {
		t.Errorf("%d files, want %d", got, want)
	}
	context := files["context.toa.yaml"]
	for _, want := range []string{"- name: edge0", "- name: edge1", "- bench.c0", "- bench.c6"} {
		if !strings.Contains(context, want) {
			t.Errorf("context lacks %q:\n%s", want, context)
		}
	}
	if strings.Contains(context, "edge2") {
		t.Errorf("context has more compositions than 7 components in fours make:\n%s", context)
	}
	packages := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool { return filepath.Base(name) != "package.json" })
	if len(packages) != 3 {
		t.Errorf("packages %q, want a third of the components", packages)
	}
}

func TestSize(t *testing.T) {
	files := write(t, Workspace{Components: 1, Files: 3, Size: 1000, Members: 1, Seed: 1})
	if got := len(files["components/bench.c0/assets/part2.bin"]); got != 1000 {
		t.Errorf("file of %d bytes, want 1000", got)
	}
}

func TestCommitLeavesNothingToSay(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	dir := filepath.Join(t.TempDir(), "w")
	if err := generate(Workspace{Dir: dir, Components: 2, Files: 3, Members: 1, Seed: 1}, true, ""); err != nil {
		t.Fatal(err)
	}
	status, err := exec.Command("git", "-C", dir, "status", "--porcelain").CombinedOutput()
	if err != nil || len(status) > 0 {
		t.Errorf("git status = %q, %v, want nothing", status, err)
	}
}

func TestListNamesWhatIsWritten(t *testing.T) {
	for _, size := range []int{0, 100} {
		w := Workspace{Components: 4, Files: 6, Size: size, Members: 3, Seed: 1}
		listed := strings.Fields(w.List())
		slices.Sort(listed)
		if written := slices.Sorted(maps.Keys(write(t, w))); !slices.Equal(listed, written) {
			t.Errorf("list %q, want %q", listed, written)
		}
	}
}

func TestWriteKeepsWhatIsThere(t *testing.T) {
	if err := (Workspace{Dir: t.TempDir(), Components: 1, Files: 2, Members: 1}).Write(); err == nil {
		t.Error("Write wrote into a directory that exists")
	}
}

// write makes a workspace and reads it back: content by path.
func write(t *testing.T, w Workspace) map[string]string {
	t.Helper()
	w.Dir = filepath.Join(t.TempDir(), "w")
	if err := w.Write(); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	tree := os.DirFS(w.Dir)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
