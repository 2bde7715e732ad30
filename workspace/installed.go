package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Installed is a package in node_modules of the workspace.
type Installed struct {
	// Dir is a slash path below the root.
	Dir     string
	Version string
	// HasDependencies says that packages have to be installed for it.
	HasDependencies bool
}

// FindInstalled finds an npm package at the root of a workspace, or returns a
// *NotInstalledError. Of a reference "package#key" the package counts.
func FindInstalled(fsys fs.FS, reference string) (*Installed, error) {
	name, _, _ := strings.Cut(reference, "#")
	dir := path.Join("node_modules", name)
	if strings.HasPrefix(name, "./") {
		dir = path.Clean(name)
	}
	file := path.Join(dir, packageName)
	data, err := fs.ReadFile(fsys, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NotInstalledError{Package: name}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var says struct {
		Version      string                     `json:"version"`
		Dependencies map[string]json.RawMessage `json:"dependencies"`
	}
	if err := json.Unmarshal(data, &says); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return &Installed{Dir: dir, Version: says.Version, HasDependencies: len(says.Dependencies) > 0}, nil
}

// NotInstalledError is a package whose service has to be built and that is not
// there to build it from.
type NotInstalledError struct{ Package string }

func (e *NotInstalledError) Error() string {
	return fmt.Sprintf("package %s is not installed, and the image of its service is built from it", e.Package)
}

// Hint is how to mend it.
func (e *NotInstalledError) Hint() string {
	hint := "run `npm install " + e.Package + "` at the workspace root, or say `registry.services: published`"
	if strings.HasSuffix(e.Package, "extensions.introspection") {
		hint += ", or `introspection: false` to do without it"
	}
	return hint
}

// Mistake is true: it is found before anything is touched.
func (*NotInstalledError) Mistake() bool { return true }

// BaseImage is what images start from that state no base of their own.
func (x *Context) BaseImage() string { return contextImage(x) }
