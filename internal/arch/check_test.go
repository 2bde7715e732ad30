package arch_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"toa.io/toa/internal/arch"
)

// small is a law with one rule of each kind.
var small = arch.Law{
	Module: "example.com/small",
	Rooms: map[string]arch.Room{
		"core":     {},
		"shop":     {Imports: []string{"core"}},
		"cmd/shop": {Imports: []string{"*"}},
		"console":  {},
		"helpers":  {},
	},
	Owners: []arch.Owner{
		{Module: "heavy.org/db", Rooms: []string{"core"}},
		{Module: "heavy.org/check", Rooms: []string{"core"}, Tests: []string{"*"}},
	},
	Banned: []string{"helpers", "util"},
}

func TestCheck(t *testing.T) {
	const doc = "// Package x is documented.\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"a lawful tree": {
			files: map[string]string{
				"core/a.go":          doc + "package core\nimport _ \"heavy.org/db\"",
				"core/b.go":          "package core\nimport \"fmt\"\nvar _ = fmt.Sprint()",
				"shop/a.go":          doc + "package shop\nimport _ \"example.com/small/core\"",
				"shop/a_test.go":     "package shop_test\nimport _ \"example.com/small/console\"\nimport _ \"heavy.org/check/v2\"",
				"cmd/shop/a.go":      doc + "package main\nimport (\"os\"; _ \"example.com/small/shop\")\nfunc main() { os.Exit(1) }",
				"console/a_test.go":  doc + "package console\nimport \"fmt\"\nfunc say() { fmt.Println() }",
				"nested/go.mod":      "module nested",
				"nested/a.go":        "package helpers",
				"core/testdata/a.go": "package util",
				"core/_old/a.go":     "package util",
				".git/a.go":          "package util",
			},
		},
		"an import upwards": {
			files: map[string]string{"core/a.go": doc + "package core\n\nimport _ \"example.com/small/shop\""},
			want:  []string{"core/a.go:4: core may not import shop"},
		},
		"an import of the root": {
			files: map[string]string{"core/a.go": doc + "package core\nimport _ \"example.com/small\""},
			want:  []string{"core/a.go:3: core may not import ."},
		},
		"a neighbour whose name begins alike is foreign": {
			files: map[string]string{"core/a.go": doc + "package core\nimport _ \"example.com/smaller/shop\"\nimport _ \"heavy.org/dbx\""},
		},
		"under a build tag too": {
			files: map[string]string{"core/a.go": "//go:build never\n\n" + doc + "package core\nimport _ \"example.com/small/shop\""},
			want:  []string{"core/a.go:5: core may not import shop"},
		},
		"a heavy module outside its room": {
			files: map[string]string{"shop/a.go": doc + "package shop\nimport _ \"heavy.org/db/v2/deep\""},
			want:  []string{"shop/a.go:3: shop may not import heavy.org/db/v2/deep: only core may"},
		},
		"a heavy module in a foreign test": {
			files: map[string]string{"shop/a_test.go": doc + "package shop\nimport _ \"heavy.org/db\""},
			want:  []string{"shop/a_test.go:3: shop may not import heavy.org/db: only core may"},
		},
		"a test's module outside of tests": {
			files: map[string]string{"shop/a.go": doc + "package shop\nimport _ \"heavy.org/check\""},
			want:  []string{"shop/a.go:3: shop may not import heavy.org/check: only core may"},
		},
		"a room that is not in the table": {
			files: map[string]string{"attic/a.go": doc + "package attic"},
			want:  []string{"attic: no room of this name: enter it in the table of internal/arch on purpose"},
		},
		"a directory whose name says nothing": {
			files: map[string]string{"helpers/a.go": doc + "package core"},
			want:  []string{"helpers: the package's name says nothing"},
		},
		"a package clause that says nothing": {
			files: map[string]string{"core/a.go": doc + "package util"},
			want:  []string{"core: the package's name says nothing"},
		},
		"no package comment": {
			files: map[string]string{"core/a.go": "package core"},
			want:  []string{"core: no package comment"},
		},
		"exits": {
			files: map[string]string{"core/a.go": doc + `package core
import ("log"; sys "os"; "syscall")
func f() {
	sys.Exit(1)
	log.Fatalf("")
	syscall.Exit(2)
	log.Print("")
}`},
			want: []string{"core/a.go:5: only main exits", "core/a.go:6: only main exits", "core/a.go:7: only main exits"},
		},
		"an exit that is handed on": {
			files: map[string]string{"core/a.go": doc + "package core\nimport \"os\"\nvar exit = os.Exit"},
			want:  []string{"core/a.go:4: only main exits"},
		},
		"prints": {
			files: map[string]string{"core/a.go": doc + "package core\nimport \"fmt\"\nfunc f() { fmt.Printf(\"\") }"},
			want:  []string{"core/a.go:4: prints unasked: return a value, send an event or take a writer"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{}
			for path, text := range c.files {
				tree[path] = &fstest.MapFile{Data: []byte(text)}
			}
			found, err := arch.Check(tree, small)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range found {
				got = append(got, v.String())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("Check = %q, want %q", got, c.want)
			}
		})
	}
}

func TestCheckRefusesWhatDoesNotParse(t *testing.T) {
	tree := fstest.MapFS{"core/a.go": {Data: []byte("package")}}
	if found, err := arch.Check(tree, small); err == nil {
		t.Errorf("Check = %v, want an error", found)
	}
}
