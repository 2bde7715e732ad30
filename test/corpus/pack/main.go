// Command pack keeps what fuzzing found: it takes the inputs that `go test
// -fuzz` left in its cache into the target's text file, or some of each length where they are many.
package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"toa.io/toa/test/corpus"
)

// kept bounds a file: all its inputs are run by each `go test`.
const kept = 150

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: pack FUZZ_CACHE PACKAGE_DIR TARGET")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(cache, dir, target string) error {
	path := filepath.Join(dir, "testdata", "corpus", target+".txtar")
	files := map[string]string{}
	if data, err := os.ReadFile(path); err == nil {
		for _, f := range txtar.Parse(data).Files {
			files[f.Name] = string(f.Data)
		}
	}
	found, err := filepath.Glob(filepath.Join(cache, "toa.io", "toa", dir, target, "*"))
	if err != nil {
		return err
	}
	for _, one := range found {
		data, err := os.ReadFile(one)
		if err != nil {
			return err
		}
		if _, err := corpus.Decode(string(data)); err != nil {
			return fmt.Errorf("%s: %w", one, err)
		}
		files[filepath.Base(one)] = string(data)
	}
	return write(path, some(files))
}

// some are the inputs that are kept, evenly over all lengths, in the order of
// their names so that two packs of the same inputs are equal.
func some(files map[string]string) []txtar.File {
	var all []txtar.File
	for name, data := range files {
		all = append(all, txtar.File{Name: name, Data: []byte(data)})
	}
	byName := func(a, b txtar.File) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(all, func(a, b txtar.File) int {
		return cmp.Or(cmp.Compare(len(a.Data), len(b.Data)), byName(a, b))
	})
	chosen := make([]txtar.File, 0, kept)
	for i := range min(len(all), kept) {
		chosen = append(chosen, all[i*len(all)/min(len(all), kept)])
	}
	slices.SortFunc(chosen, byName)
	return chosen
}

func write(path string, files []txtar.File) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, txtar.Format(&txtar.Archive{Files: files}), 0o644)
}
