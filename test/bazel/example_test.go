package bazel_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The example, from a fresh clone, as its README says; then what an edit makes
// of it.
func TestExample(t *testing.T) {
	b := newBazel(t, clone(t))
	b.keepReferences(t)

	t.Run("builds and tests", func(t *testing.T) {
		b.must(t, "build", "//...")
		b.must(t, "test", "//...")
		b.must(t, "run", "//:library", "--", "--output", "plain")
	})
	t.Run("makes the same as toa itself", func(t *testing.T) { b.sameAsPlain(t) })
	t.Run("makes the same elsewhere without a network", func(t *testing.T) { b.sameElsewhere(t) })
	t.Run("executes nothing again", func(t *testing.T) {
		if made := b.executed(t, "build", "//..."); len(made) > 0 {
			t.Errorf("a build that changes nothing made %q", made)
		}
		if made := b.executed(t, "test", "//..."); len(made) > 0 {
			t.Errorf("a test that changes nothing made %q", made)
		}
	})
	t.Run("executes what an edit concerns", func(t *testing.T) { b.edits(t) })
	t.Run("finds what is stale", func(t *testing.T) { b.stale(t) })
	t.Run("refuses what Bazel hides", func(t *testing.T) { b.hidden(t) })
	t.Run("is convenient", func(t *testing.T) { b.ergonomics(t) })
	t.Run("runs toa itself", func(t *testing.T) { b.commands(t) })
	t.Run("locks packages as a shell does", func(t *testing.T) { b.packages(t) })
	t.Run("takes images of other rules", func(t *testing.T) { b.images(t) })
}

// keepReferences writes what the example has of its own references, with -update.
func (b *bazel) keepReferences(t *testing.T) {
	t.Helper()
	if !*update {
		return
	}
	b.must(t, "build", "//:tags")
	made := map[string]string{
		"expected.json":  read(t, b.bin("tags.json")),
		"references.txt": b.must(t, "run", "//:library.push").stdout,
	}
	writeFiles(t, b.workspace, made)
	writeFiles(t, filepath.Join(repository, "examples/bazel"), made)
}

// sameAsPlain compares with what toa says of the same tree, in which what Bazel
// generates is a file like any other.
func (b *bazel) sameAsPlain(t *testing.T) {
	tree := t.TempDir()
	copyTree(t, b.workspace, tree)
	const generated = "components/library.books/catalogue.json"
	writeFiles(t, tree, map[string]string{generated: read(t, b.bin(generated))})

	if got, want := read(t, b.bin("tags.json")), b.plain(t, tree, "export", "tags", "-o", "json"); got != want {
		t.Errorf("tags.json is\n%s\ntoa makes\n%s", got, want)
	}
	b.plain(t, tree, "export", "chart", "", "plain.tgz", "--references", filepath.Join(b.workspace, "references.txt"))
	if read(t, b.bin("chart.tgz")) != read(t, filepath.Join(tree, "plain.tgz")) {
		t.Error("chart.tgz has other bytes than toa makes")
	}
}

// sameElsewhere builds another clone, in another output base.
func (b *bazel) sameElsewhere(t *testing.T) {
	other := newBazel(t, clone(t))
	writeFiles(t, other.workspace, map[string]string{
		"expected.json":  read(t, filepath.Join(b.workspace, "expected.json")),
		"references.txt": read(t, filepath.Join(b.workspace, "references.txt")),
	})
	other.offline = exec.Command("unshare", "--net", "ip", "link", "set", "lo", "up").Run() == nil
	if !other.offline {
		t.Log("no network namespace can be made here: only actions are kept from the network")
	}
	other.must(t, "build", "//:tags", "//:chart")
	for _, name := range []string{"tags.json", "chart.tgz"} {
		if read(t, b.bin(name)) != read(t, other.bin(name)) {
			t.Errorf("%s has other bytes in another output base", name)
		}
	}
}

func (b *bazel) edits(t *testing.T) {
	for _, edit := range []struct {
		path string
		want []string
	}{
		{"README.md", []string{}},
		{"components/library.loans/operations/extend.js", []string{"tags.json"}},
		{"books.csv", []string{"components/library.books/catalogue.json", "tags.json"}},
	} {
		undo := b.append(t, edit.path, "\n")
		if got := b.executed(t, "build", "//:tags", "//:catalogue"); !slices.Equal(got, edit.want) {
			t.Errorf("an edit of %s made %q, want %q", edit.path, got, edit.want)
		}
		undo()
	}
}

// append adds to a file, and returns what takes that back.
func (b *bazel) append(t *testing.T, path, text string) (undo func()) {
	t.Helper()
	path = filepath.Join(b.workspace, path)
	before := read(t, path)
	must(t, os.WriteFile(path, []byte(before+text), 0o644))
	return func() {
		t.Helper()
		must(t, os.WriteFile(path, []byte(before), 0o644))
	}
}

func (b *bazel) stale(t *testing.T) {
	undo := b.append(t, "components/library.loans/operations/extend.js", "\n")
	r := b.run(t, b.workspace, "test", "//:library.check", "--test_output=errors")
	if r.code != 3 { // Bazel: tests failed
		t.Errorf("exit code %d, want 3", r.code)
	}
	wants(t, r.stdout, "composition/lending: ", "expected.json has library/composition-lending:", ", expected library/composition-lending:")
	r = b.run(t, b.workspace, "build", "//:chart")
	wants(t, r.stderr, "references.txt is not of this workspace as it stands", "composition/lending")
	undo()

	undo = b.append(t, "context.toa.yaml", "registri: ~\n")
	r = b.run(t, b.workspace, "test", "//:library.check", "--test_output=errors")
	wants(t, r.stdout, `context.toa.yaml:`, `unknown key "registri"`, `did you mean`)
	undo()

	path := filepath.Join(b.workspace, "context.toa.yaml")
	before := read(t, path)
	writeFiles(t, b.workspace, map[string]string{"context.toa.yaml": strings.Replace(before, "image: scratch", "image: registry.example.com/base:1", 1)})
	r = b.run(t, b.workspace, "test", "//:library.check", "--test_output=errors")
	wants(t, r.stdout, "registry.example.com/base:1 linux/amd64 is not pinned")
	writeFiles(t, b.workspace, map[string]string{"context.toa.yaml": before})
}

// hidden finds modes and links that Bazel does not tell of, and that would make
// other images than those that toa makes of the same tree.
func (b *bazel) hidden(t *testing.T) {
	script := filepath.Join(b.workspace, "components/library.loans/operations/extend.js")
	must(t, os.Chmod(script, 0o755))
	undo := b.append(t, "components/library.loans/operations/extend.js", "\n")
	r := b.run(t, b.workspace, "build", "//:tags")
	wants(t, r.stderr, "components/library.loans/operations/extend.js may be executed and is not declared so", "state it in executables")
	must(t, os.Chmod(script, 0o644))
	undo()

	link := filepath.Join(b.workspace, "components/library.loans/operations/renew.js")
	must(t, os.Symlink("extend.js", link))
	r = b.run(t, b.workspace, "build", "//:tags")
	wants(t, r.stderr, "components/library.loans/operations/renew.js is a symbolic link", "state it in symlinks")
	must(t, os.Remove(link))
}
