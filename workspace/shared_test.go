package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toa.io/toa/workspace"
)

// Workspaces of other people lie beside the repository where they could be had.
const shared = "../../shared/workspaces"

func sharedWorkspace(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(shared, name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no workspaces of others here: %v", err)
	}
	return dir
}

// said are the keys that notices are of.
func said(notices []workspace.Notice) []string {
	var keys []string
	for _, notice := range notices {
		keys = append(keys, strings.Fields(notice.Text)[0])
	}
	return keys
}

func TestSharedExample(t *testing.T) {
	w, err := workspace.Load(os.DirFS(sharedWorkspace(t, "example")), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range w.Components {
		ids = append(ids, c.ID)
	}
	if want := []string{"default.echo", "default.web", "math.calculations", "math.proxy", "tea.pots"}; !slices.Equal(ids, want) {
		t.Errorf("Components = %q, want %q", ids, want)
	}
	if got, want := said(w.Notices), []string{"origins", "packages"}; !slices.Equal(got, want) {
		t.Errorf("notices of %q, want %q", got, want)
	}
}

func TestSharedPlatform(t *testing.T) {
	w, err := workspace.Load(os.DirFS(sharedWorkspace(t, "platform")), "dev", nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range w.Compositions {
		names = append(names, c.Name)
	}
	if want := []string{"messages", "credits-balance", "dummies-a"}; !slices.Equal(names, want) {
		t.Errorf("Compositions = %q, want %q", names, want)
	}
	if w.Context.Registry.Platforms != nil {
		t.Errorf("Platforms = %q, want those of the host", w.Context.Registry.Platforms)
	}
	if got, want := said(w.Notices), []string{"packages"}; !slices.Equal(got, want) {
		t.Errorf("notices of %q, want %q", got, want)
	}
}

// The components of the collection are linked to where its context looks for
// them. One of them is broken on purpose.
func TestSharedCollection(t *testing.T) {
	dir, root := sharedWorkspace(t, "collection"), t.TempDir()
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(filepath.Join(dir, workspace.ContextFile), workspace.ContextFile)
	if err := os.Mkdir(filepath.Join(root, "components"), 0o755); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "components/collection"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		link(filepath.Join(dir, "components/collection", entry.Name()), filepath.Join("components", entry.Name()))
	}
	_, err = workspace.Load(os.DirFS(root), "docker", nil)
	if want := "components/dummies.invalid/manifest.toa.yaml:1:1: name: expected text, found null"; err == nil || err.Error() != want {
		t.Errorf("Load: %v, want %s", err, want)
	}
	list, _ := errors.AsType[*workspace.Errors](err)
	want := []string{"origins", "packages", "queues", "sql"}
	if got := said(list.Notices); !slices.Equal(got, want) {
		t.Errorf("notices of %q, want %q", got, want)
	}
	if err := os.Remove(filepath.Join(root, "components/dummies.invalid")); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Load(os.DirFS(root), "docker", nil)
	if err != nil || len(w.Components) != len(entries)-1 {
		t.Errorf("Load: %v, want %d components", err, len(entries)-1)
	}
}
