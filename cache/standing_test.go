package cache_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"toa.io/toa/cache"
)

// ground is a workspace whose runs read one component, one file through FS and
// one that is not there.
type ground struct{ store }

func newGround(t *testing.T) ground {
	t.Helper()
	g := ground{newStore(t, map[string]string{"c/a.js": "1", "c/b.js": "2", "c/skip.md": "3", "seen.yaml": "4", "other.yaml": "5", "dir/x": "6"})}
	g.age()
	return g
}

// age waits until what was changed last can be known by its times.
func (g ground) age() { time.Sleep(25 * time.Millisecond) }

func (g ground) open() *cache.Files {
	g.t.Helper()
	files, err := cache.OpenFiles(cache.OpenDB(g.db, func(w string) { g.t.Error("warning:", w) }), g.root)
	must(g.t, err)
	return files
}

// run looks at what each run looks at.
func (g ground) run(files *cache.Files) {
	g.t.Helper()
	_, err := files.Tree(cache.Rules{Dir: "c", Ignore: []string{"*.md"}})
	must(g.t, err)
	fsys := files.FS()
	_, err = fs.ReadFile(fsys, "seen.yaml")
	must(g.t, err)
	_, _ = fs.Stat(fsys, "absent.yaml")
	_, err = fs.ReadDir(fsys, "dir")
	must(g.t, err)
	_, _ = files.Digest("c/package.json")
}

// stand makes runs until a note is kept.
func (g ground) stand() {
	g.t.Helper()
	for range 5 {
		files := g.open()
		g.run(files)
		files.Stand("build", []byte("idle"))
		files.Save()
		must(g.t, files.Close())
		if g.stands() {
			return
		}
		g.age()
	}
	g.t.Fatal("five runs, and no note is kept")
}

func (g ground) stands() bool {
	g.t.Helper()
	files := g.open()
	defer files.Close()
	return string(files.Standing("build")) == "idle"
}

func TestNotesStandUntilSomethingChanges(t *testing.T) {
	for name, row := range map[string]struct {
		change func(root string) error
		stands bool
	}{
		"nothing":                     {func(string) error { return nil }, true},
		"a file that nobody looks at": {func(root string) error { return overwrite(root, "other.yaml") }, true},
		"a file of a component":       {func(root string) error { return overwrite(root, "c/a.js") }, false},
		"its mode":                    {func(root string) error { return os.Chmod(filepath.Join(root, "c/b.js"), 0o755) }, false},
		"a new file of a component":   {func(root string) error { return overwrite(root, "c/new.js") }, false},
		"a file less":                 {func(root string) error { return os.Remove(filepath.Join(root, "c/a.js")) }, false},
		"a file that was not there":   {func(root string) error { return overwrite(root, "absent.yaml") }, false},
		"a package that was not there": {
			func(root string) error { return overwrite(root, "c/package.json") }, false,
		},
		"a file that was read":   {func(root string) error { return overwrite(root, "seen.yaml") }, false},
		"one that is now a link": {func(root string) error { return relink(root, "seen.yaml") }, false},
		"a directory's entries":  {func(root string) error { return overwrite(root, "dir/y") }, false},
		"a component less":       {func(root string) error { return os.RemoveAll(filepath.Join(root, "c")) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGround(t)
			g.stand()
			must(t, row.change(g.root))
			if g.stands() != row.stands {
				t.Errorf("stands: %t", !row.stands)
			}
		})
	}
}

func overwrite(root, path string) error {
	return os.WriteFile(filepath.Join(root, path), []byte("0"), 0o600)
}

// relink puts a link to a copy in place of a file.
func relink(root, path string) error {
	full := filepath.Join(root, path)
	if err := os.Rename(full, full+".moved"); err != nil {
		return err
	}
	if err := os.WriteFile(full+".copy", []byte("4"), 0o600); err != nil {
		return err
	}
	return os.Symlink(full+".copy", full)
}

// A directory that changed and that nobody asks for any more keeps no run from
// being repeated.
func TestForgottenDirectoryDoesNotMatter(t *testing.T) {
	g := newGround(t)
	files := g.open()
	_, err := files.Tree(cache.Rules{Dir: "dir"})
	must(t, err)
	files.Save()
	must(t, files.Close())
	must(t, overwrite(g.root, "dir/x"), os.RemoveAll(filepath.Join(g.root, "dir")), os.Mkdir(filepath.Join(g.root, "dir"), 0o700))
	g.age()
	g.stand()
}

// What a run says that began before another learnt something is not kept: it
// may be of older files.
func TestNoteOfOlderFilesIsNotKept(t *testing.T) {
	g := newGround(t)
	g.stand()
	early := g.open()
	g.run(early) // waits until all is checked
	must(t, overwrite(g.root, "c/a.js"))
	g.age()
	late := g.open()
	g.run(late)
	late.Save()
	must(t, late.Close())
	early.Stand("build", []byte("idle"))
	early.Save()
	must(t, early.Close())
	if g.stands() {
		t.Error("what was true of the old file is said of the new one")
	}
}

// A listing that was damaged and dropped says nothing of its directory any more.
func TestNoteWithoutItsListingsDoesNotStand(t *testing.T) {
	g := newGround(t)
	g.stand()
	db, err := bbolt.Open(g.db, 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bbolt.Tx) error {
		trees := tx.Bucket([]byte("trees/v2"))
		name, value := trees.Cursor().First()
		return trees.Put(bytes.Clone(name), append(bytes.Clone(value), 0))
	}), db.Close())
	if g.stands() {
		t.Error("it stands on a damaged listing")
	}
	if _, err := cache.OpenDB(g.db, nil).Verify(); err != nil {
		t.Log(err)
	}
	if g.stands() {
		t.Error("it stands without its listing")
	}
}

// Notes have names, and one of another name is not meant.
func TestNotesStandByName(t *testing.T) {
	g := newGround(t)
	g.stand()
	files := g.open()
	defer files.Close()
	if note := files.Standing("other"); note != nil {
		t.Errorf("%q", note)
	}
}
