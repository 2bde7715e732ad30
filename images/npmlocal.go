package images

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// readLocals adds what npm has to see of packages that lie in the component
// itself: a directory's package.json (npm links to it, and the component's
// image holds it), or an archive, which the lockfile knows by its hash. What is
// elsewhere on this machine is refused: no image has it. So is everything
// local where no lockfile tells what it needs in turn.
func (job *install) readLocals(root *os.Root) error {
	locals, err := job.locals()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(locals)) {
		where := locals[name]
		if !within(where) || job.LockName == "" {
			return &LocalDependencyError{Component: job.source.Component, Dependency: name + " (" + where + ")", Locked: job.LockName != ""}
		}
		if info, err := root.Stat(where); err == nil && info.IsDir() {
			where = path.Join(where, "package.json")
		}
		if job.files[where], err = readFile(root, where); err != nil {
			return err
		}
	}
	return nil
}

// within tells whether a path, as package.json or a lockfile has it, is in the
// component and not the component itself.
func within(where string) bool {
	return fs.ValidPath(where) && where != "." && !strings.HasPrefix(where, "~/") && !strings.HasPrefix(where, workspaceScheme)
}

// workspaceScheme is how other package managers than npm name packages of the
// same repository.
const workspaceScheme = "workspace:"

// locals are the packages that come from this machine, with where they are.
func (job *install) locals() (map[string]string, error) {
	found := map[string]string{}
	var content struct {
		Dependencies         map[string]string `json:"dependencies"`
		OptionalDependencies map[string]string `json:"optionalDependencies"`
	}
	if err := json.Unmarshal(job.files["package.json"], &content); err != nil {
		return nil, fmt.Errorf("read package.json: %w", err)
	}
	for _, all := range []map[string]string{content.Dependencies, content.OptionalDependencies} {
		for name, spec := range all {
			if where, ok := localPath(spec); ok {
				found[name] = where
			}
		}
	}
	if job.LockName == "" {
		return found, nil
	}
	lock, err := parseNPMLock(job.files[job.LockName])
	if err != nil {
		return nil, err
	}
	maps.Copy(found, lock.locals())
	return found, nil
}

// locals are the packages of a lockfile that are directories or archives on
// this machine.
func (l npmLock) locals() map[string]string {
	found := map[string]string{}
	for at, p := range l.Packages {
		where, file := strings.CutPrefix(p.Resolved, "file:")
		inside, _, below := strings.Cut(at, "/"+npmModules+"/")
		switch {
		case p.Dev:
		case p.Link || file:
			found[npmName(at)] = path.Clean(where)
		case below && !strings.HasPrefix(at, npmModules+"/"):
			// npm would install it in the linked directory, which is not packed.
			found[npmName(at)] = "../" + inside
		}
	}
	return found
}

// localPath is where a dependency is, if it is on this machine.
func localPath(spec string) (string, bool) {
	for _, scheme := range []string{"file:", "link:", "portal:"} {
		if where, ok := strings.CutPrefix(spec, scheme); ok {
			return path.Clean(where), true
		}
	}
	if strings.HasPrefix(spec, workspaceScheme) {
		return spec, true
	}
	for _, prefix := range []string{"./", "../", "/", "~/"} {
		if strings.HasPrefix(spec, prefix) {
			return path.Clean(spec), true
		}
	}
	return "", false
}

// LocalDependencyError says that a package is taken from this machine.
type LocalDependencyError struct {
	Component string
	// Dependency is its name and where it is.
	Dependency string
	// Locked says that the component has a lockfile.
	Locked bool
}

func (e *LocalDependencyError) Error() string {
	return e.Dependency + " is on this machine only"
}

// Hint is how to mend it.
func (e *LocalDependencyError) Hint() string {
	switch {
	case strings.Contains(e.Dependency, "("+workspaceScheme):
		return "npm does not know the workspace protocol: publish the package to a registry and state its version, or move its sources into the component and state them as file:./DIR"
	case !e.Locked:
		return "run npm install in the component and commit its lockfile; packages outside of the component have to be published to a registry"
	default:
		return "publish the package to a registry, or move its sources into the component and state them as file:./DIR"
	}
}
