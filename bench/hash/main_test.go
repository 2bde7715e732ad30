package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHashIsOfTheContent(t *testing.T) {
	root, scratch := t.TempDir(), t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, "components", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cold := func(db string) string {
		t.Helper()
		key, err := hash(filepath.Join(scratch, db), root)
		if err != nil {
			t.Fatal(err)
		}
		return key.String()
	}
	put("a/manifest.toa.yaml", "name: a")
	put("b/manifest.toa.yaml", "name: b")
	put("b/lib/x.js", "1")
	first := cold("1")
	if again := cold("2"); again != first {
		t.Errorf("two cold runs: %s and %s", first, again)
	}
	put("b/lib/x.js", "2")
	if changed := cold("3"); changed == first {
		t.Error("a changed file left the key as it was")
	}
	if _, err := hash(filepath.Join(scratch, "1"), root); err == nil {
		t.Error("hash took a cache that exists for cold")
	}
}
