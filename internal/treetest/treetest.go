// Package treetest writes and lists the directories that tests build images of.
// Only tests import it.
package treetest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toa.io/toa/cache"
)

// Files maps paths to contents; a leading "x:" makes one executable, "->" a link.
type Files map[string]string

// Write makes the files below a directory, which it returns.
func (f Files) Write(t testing.TB, dir string) string {
	t.Helper()
	return f.WriteModes(t, dir, 0o644, 0o755)
}

// WriteModes is Write with other modes of plain files and of executable ones.
func (f Files) WriteModes(t testing.TB, dir string, plain, executable fs.FileMode) string {
	t.Helper()
	for path, content := range f {
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(content, "->"); link {
			err = os.Symlink(target, full)
		} else if script, exec := strings.CutPrefix(content, "x:"); exec {
			err = os.WriteFile(full, []byte(script), executable)
		} else {
			err = os.WriteFile(full, []byte(content), plain)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Tree lists all files of a directory.
func Tree(t testing.TB, dir string) *cache.Tree {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	var list []cache.File
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := cache.FileAt(root, path)
		list = append(list, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return cache.NewTree(list)
}
