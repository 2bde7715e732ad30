package workspace

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"toa.io/toa/document"
)

// discovery finds the directories that match a glob, each level of it with one
// directory read.
type discovery struct {
	fsys   fs.FS
	dirs   []string
	errors []*Error
}

// discover lists directories in path order.
func discover(fsys fs.FS, pattern string) ([]string, []*Error) {
	d := &discovery{fsys: fsys}
	d.descend(".", strings.Split(pattern, "/"))
	slices.Sort(d.dirs)
	return d.dirs, d.errors
}

func (d *discovery) descend(dir string, segments []string) {
	if len(segments) == 0 {
		d.dirs = append(d.dirs, dir)
		return
	}
	if !strings.ContainsAny(segments[0], `*?[\`) {
		below := path.Join(dir, segments[0])
		if info, err := fs.Stat(d.fsys, below); err == nil && info.IsDir() {
			d.descend(below, segments[1:])
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.fail(below, err)
		}
		return
	}
	entries, err := fs.ReadDir(d.fsys, dir)
	if err != nil {
		d.fail(dir, err)
		return
	}
	for _, entry := range entries {
		if d.matches(segments[0], entry.Name()) && d.isDirectory(dir, entry) {
			d.descend(path.Join(dir, entry.Name()), segments[1:])
		}
	}
}

// matches leaves out hidden directories, as shells do, and installed packages.
func (d *discovery) matches(pattern, name string) bool {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") || name == "node_modules" {
		return false
	}
	matched, err := path.Match(pattern, name)
	return err == nil && matched
}

// isDirectory follows links. One that leads nowhere is reported: the component
// behind it would silently vanish from the release.
func (d *discovery) isDirectory(dir string, entry fs.DirEntry) bool {
	below := path.Join(dir, entry.Name())
	if !entry.IsDir() && entry.Type()&fs.ModeSymlink == 0 {
		return false
	}
	if !utf8.ValidString(below) || !document.Harmless(below) {
		d.errors = append(d.errors, &Error{
			Position: Position{File: below},
			Msg:      "the directory's name is not printable text, expected letters and digits",
			Fix:      "rename the directory",
		})
		return false
	}
	if entry.IsDir() {
		return true
	}
	info, err := fs.Stat(d.fsys, below)
	if err != nil {
		d.fail(below, err)
		return false
	}
	return info.IsDir()
}

func (d *discovery) fail(at string, err error) {
	r := newReader(at)
	r.unreachable(err, "the link leads nowhere, expected a directory")
	d.errors = append(d.errors, r.Errors()...)
}

// noComponents is what to say when a glob matches nothing.
func noComponents(pattern string) *Error {
	return &Error{
		Position: Position{File: ContextFile},
		Msg:      "expected at least one component, found no directory that matches " + document.Quote(pattern),
		Fix:      "make a directory there that holds a " + ManifestFile,
	}
}
