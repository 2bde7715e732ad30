package cache_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"toa.io/toa/cache"
)

// contents is a random set of files: path → content, as write takes it.
var contents = rapid.Custom(func(t *rapid.T) map[string]string {
	names := rapid.SampledFrom([]string{"a", "b", "ab", "a.b", "é", "a b", "-", "x\ny"})
	files := map[string]string{"manifest.toa.yaml": "name: c"}
	for _, path := range rapid.SliceOfN(rapid.SliceOfN(names, 1, 3), 0, 6).Draw(t, "paths") {
		full := strings.Join(path, "/")
		if conflicts(files, full) {
			continue
		}
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			files[full] = "-> " + rapid.SampledFrom([]string{"manifest.toa.yaml", "nowhere", "a"}).Draw(t, "target")
		case 1:
			files[full] = "x:" + rapid.StringN(0, 4, 8).Draw(t, "content")
		default:
			files[full] = "=" + rapid.StringN(0, 4, 8).Draw(t, "content")
		}
	}
	return files
})

// conflicts tells whether a path is taken, or lies below a file, or above one.
func conflicts(files map[string]string, path string) bool {
	for other := range files {
		if other == path || strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/") {
			return true
		}
	}
	return false
}

// Keys are equal exactly when what ships is equal: whatever the order in which
// it was written, the permissions, the owner's umask and the place.
func TestKeysAreEqualExactlyWhenFilesAre(t *testing.T) {
	dirs := 0
	top := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		one, two := contents.Draw(rt, "one"), contents.Draw(rt, "two")
		if rapid.Bool().Draw(rt, "same") {
			two = maps.Clone(one)
		}
		dirs++
		first := keyOfFiles(t, filepath.Join(top, "one", string(rune('a'+dirs%26)), rapid.StringMatching(`[a-z]{8}`).Draw(rt, "dir")), one, 0o644)
		second := keyOfFiles(t, filepath.Join(top, "two", string(rune('a'+dirs%26)), rapid.StringMatching(`[a-z]{8}`).Draw(rt, "dir")), two, 0o600)
		if (first == second) != maps.Equal(one, two) {
			rt.Fatalf("equal keys: %t\n%q\n%q", first == second, one, two)
		}
	})
}

func keyOfFiles(t *testing.T, root string, files map[string]string, mode os.FileMode) cache.Key {
	t.Helper()
	must(t, os.RemoveAll(root), os.MkdirAll(filepath.Join(root, "c"), 0o755))
	paths := slices.Collect(maps.Keys(files))
	rand.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	for _, path := range paths {
		write(t, root, map[string]string{"c/" + path: files[path]})
		if content := files[path]; !strings.HasPrefix(content, "-> ") && !strings.HasPrefix(content, "x:") {
			must(t, os.Chmod(filepath.Join(root, "c", path), mode))
		}
	}
	known, err := cache.OpenFiles(cache.OpenDB(filepath.Join(root, "db", "files.db"), nil), root)
	must(t, err)
	defer known.Close()
	tree, err := known.Tree(cache.Rules{Dir: "c"})
	must(t, err)
	return tree.Key
}
