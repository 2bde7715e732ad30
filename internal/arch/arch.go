// Package arch checks that the tree keeps its own rules: which package may
// import which, who owns a heavy module, who may exit or print. It reads source
// files itself rather than through `go list`, so that files under every build
// tag count and a cached test result is never stale.
//
// It knows the kinds of rules; the rules of this repository are in its test.
package arch

import (
	"io/fs"
	"slices"
	"strings"
)

// Law is what a tree must keep.
type Law struct {
	// Module is the import path of the tree's root.
	Module string
	// Rooms are all package directories. A package elsewhere is a violation.
	Rooms map[string]Room
	// Owners are modules that few may import.
	Owners []Owner
	// Banned are package names that say nothing.
	Banned []string
}

// Room is one package directory.
type Room struct {
	// Imports are the rooms it may import outside of tests. "*" means every room.
	Imports []string
}

// Owner names the rooms that may import a module.
type Owner struct {
	// Module is a prefix of import paths: "go.etcd.io/bbolt".
	Module string
	// Rooms may import it anywhere.
	Rooms []string
	// Tests may import it in _test files. "*" means every room.
	Tests []string
}

// Violation is one breach of the law.
type Violation struct {
	// Where is "file:line", or a directory.
	Where string
	What  string
}

func (v Violation) String() string { return v.Where + ": " + v.What }

// Check reads every package below the root of tree and returns what breaks the
// law, by place. Directories called testdata or node_modules, those that begin
// with "." or "_", and nested modules are not part of the tree.
func Check(tree fs.FS, law Law) ([]Violation, error) {
	packages, err := read(tree)
	if err != nil {
		return nil, err
	}
	var found []Violation
	for _, p := range packages {
		found = append(found, law.place(p)...)
		for _, f := range p.files {
			found = append(found, law.imports(p, f)...)
			found = append(found, calls(f)...)
		}
	}
	slices.SortFunc(found, func(a, b Violation) int { return strings.Compare(a.String(), b.String()) })
	return found, nil
}
