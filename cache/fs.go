package cache

import (
	"io/fs"
	"os"
)

// FS is the workspace as a file system. What is read through it counts as looked
// at by this run (see Stand).
func (f *Files) FS() fs.FS { return observing{os.DirFS(f.dir).(dirFS), f} }

// dirFS is what os.DirFS documents that it returns.
type dirFS interface {
	fs.StatFS
	fs.ReadDirFS
	fs.ReadFileFS
}

type observing struct {
	dirFS
	files *Files
}

func (o observing) Open(name string) (fs.File, error) {
	_, _ = o.files.observe(name) // what is wrong there is told below
	return o.dirFS.Open(name)
}

func (o observing) Stat(name string) (fs.FileInfo, error) {
	_, _ = o.files.observe(name) // what is wrong there is told below
	return o.dirFS.Stat(name)
}

func (o observing) ReadDir(name string) ([]fs.DirEntry, error) {
	_, _ = o.files.observe(name) // what is wrong there is told below
	return o.dirFS.ReadDir(name)
}

func (o observing) ReadFile(name string) ([]byte, error) {
	_, _ = o.files.observe(name) // what is wrong there is told below
	return o.dirFS.ReadFile(name)
}
