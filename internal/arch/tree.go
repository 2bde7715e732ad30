package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// dir is the Go files of one directory.
type dir struct {
	path  string // slash path below the root, "." for the root
	files []file
}

// file is one parsed Go file.
type file struct {
	path   string
	syntax *ast.File
	lines  *token.FileSet
}

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f file) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", f.path, f.lines.Position(pos).Line)
}

// imported is one import of a file.
type imported struct {
	path string
	pos  token.Pos
}

func (f file) imports() []imported {
	list := make([]imported, 0, len(f.syntax.Imports))
	for _, spec := range f.syntax.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err == nil { // the parser has refused everything else
			list = append(list, imported{name, spec.Pos()})
		}
	}
	return list
}

// use is one mention of what another package exports.
type use struct {
	of, name string // "fmt", "Println"
	pos      token.Pos
}

// uses lists the mentions of imported packages. Names are looked up by import
// alone: a variable that shadows a package is taken for the package.
func (f file) uses() []use {
	paths := map[string]string{}
	for _, spec := range f.syntax.Imports {
		name := strings.Trim(spec.Path.Value, `"`)
		if spec.Name != nil {
			paths[spec.Name.Name] = name
		} else {
			paths[path.Base(name)] = name
		}
	}
	var list []use
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if from, ok := s.X.(*ast.Ident); ok && paths[from.Name] != "" {
				list = append(list, use{paths[from.Name], s.Sel.Name, s.Pos()})
			}
		}
		return true
	})
	return list
}

// read parses all packages, by path.
func read(tree fs.FS) ([]dir, error) {
	var dirs []dir
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("walk tree: %w", err)
		}
		switch {
		case entry.IsDir() && outside(tree, name):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		parsed, err := parse(tree, name)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(dirs, func(d dir) bool { return d.path == path.Dir(name) })
		if i < 0 {
			i, dirs = len(dirs), append(dirs, dir{path: path.Dir(name)})
		}
		dirs[i].files = append(dirs[i].files, parsed)
		return nil
	})
	return dirs, err
}

// outside tells whether a directory is no part of the tree.
func outside(tree fs.FS, name string) bool {
	if name == "." {
		return false
	}
	base := path.Base(name)
	if base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := fs.Stat(tree, path.Join(name, "go.mod"))
	return err == nil
}

func parse(tree fs.FS, name string) (file, error) {
	source, err := fs.ReadFile(tree, name)
	if err != nil {
		return file{}, fmt.Errorf("read source: %w", err)
	}
	lines := token.NewFileSet()
	syntax, err := parser.ParseFile(lines, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return file{}, fmt.Errorf("parse source: %w", err)
	}
	return file{name, syntax, lines}, nil
}
