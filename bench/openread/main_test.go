package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunReadsEveryFileOfTheList(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"a", "b", "c"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	list := filepath.Join(dir, "list")
	for _, c := range []struct {
		paths []string
		fails bool
	}{
		{paths, false},
		{paths[:1], false},
		{append(paths, filepath.Join(dir, "missing")), true},
	} {
		if err := os.WriteFile(list, []byte(strings.Join(c.paths, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run(list); (err != nil) != c.fails {
			t.Errorf("run(%q) = %v, want an error: %t", c.paths, err, c.fails)
		}
	}
}
