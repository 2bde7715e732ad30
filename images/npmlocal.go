package images

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
	"toa.io/toa/workspace"
)

// locals are the packages of the workspace that a component installs, by name.
//
// npm would link to their directories, which no image has. So each is packed
// and installed as if it came from a registry, side by side with what the
// component depends on; package.json and the lockfile, as npm gets to see them,
// say so.
type locals map[string]*local

// local is one of them, ready to be installed.
type local struct {
	archive []byte
	// file is where npm finds the archive; the component is its directory.
	file string
	// manifest is the package.json of a directory, lock its lockfile if it has
	// one.
	manifest fields
	lock     []byte
	// compiled says that npm compiles it.
	compiled bool
}

// fields are a JSON object of which a few are looked at.
type fields map[string]json.RawMessage

// spec is what the component's package.json says of the package.
func (l *local) spec() string { return "file:" + l.file }

// localize makes npm install packages of the workspace as if they came from a
// registry.
func (job *install) localize() error {
	var manifest fields
	if err := json.Unmarshal(job.files["package.json"], &manifest); err != nil {
		return fmt.Errorf("read package.json: %w", err)
	}
	all, err := job.readLocals()
	if err != nil {
		return err
	}
	changed, err := all.direct(manifest)
	if err != nil {
		return job.explain(err)
	}
	if !job.tellsOfDevelopment() && manifest[devSection] != nil {
		delete(manifest, devSection)
		changed = true
	}
	if !changed {
		return nil
	}
	job.files["package.json"] = encode(manifest)
	for _, one := range all {
		job.files[one.file] = one.archive
	}
	if job.LockName == "" {
		return nil
	}
	job.files[job.LockName], err = all.relock(job.files[job.LockName])
	return job.explain(err)
}

// tellsOfDevelopment says that npm has to see what is for development: it wants
// to find that in the component's own lockfile. Else it is not even looked for.
func (job *install) tellsOfDevelopment() bool { return job.LockName != "" && job.source.Shared == nil }

// explain says whose fault it is.
func (job *install) explain(err error) error {
	if unlocked, ok := errors.AsType[*UnlockedError](err); ok {
		unlocked.Component, unlocked.Repository = job.source.Component, job.repository()
	}
	return err
}

// readLocals reads and packs them. What is read is compared with what was
// hashed.
func (job *install) readLocals() (locals, error) {
	if len(job.Locals) != len(job.source.Locals) {
		return nil, fmt.Errorf("%d packages of the workspace are installed, and %d are given", len(job.Locals), len(job.source.Locals))
	}
	all := locals{}
	for i, one := range job.Locals {
		made, err := readLocal(one, job.source.Locals[i])
		if err != nil {
			return nil, fmt.Errorf("read package %s: %w", one.Name, err)
		}
		all[one.Name] = made
	}
	for i, one := range job.Locals {
		if err := all.pack(all[one.Name], job.source.Locals[i]); err != nil {
			return nil, fmt.Errorf("pack package %s: %w", one.Name, err)
		}
	}
	return all, nil
}

func readLocal(one templates.Local, from orchestrator.Local) (*local, error) {
	if !fs.ValidPath(one.Name) || one.Name == "." {
		return nil, errors.New("no package has that name")
	}
	if from.Tree != nil {
		return readDirectory(one.Name, from)
	}
	root, err := os.OpenRoot(path.Dir(from.Path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	data, err := readFile(root, path.Base(from.Path))
	if err == nil && cache.Digest(data).String() != one.Digest {
		err = &cache.ChangedError{Path: path.Base(from.Path), Now: "its content is another"}
	}
	return &local{archive: data, file: path.Join(templates.LocalsDir, one.Name+".tgz")}, err
}

func readDirectory(name string, from orchestrator.Local) (*local, error) {
	dir, err := cache.OpenDir(from.Path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	made := &local{file: path.Join(templates.LocalsDir, name+".tar")}
	for _, file := range from.Tree.Files() {
		var content bytes.Buffer
		switch {
		case file.Path == "package.json":
			if err := file.CopyTo(&content, dir); err != nil {
				return nil, err
			}
			if err := json.Unmarshal(content.Bytes(), &made.manifest); err != nil {
				return nil, fmt.Errorf("read package.json: %w", err)
			}
		case made.lock == nil && slices.Contains(workspace.Lockfiles, file.Path):
			if err := file.CopyTo(&content, dir); err != nil {
				return nil, err
			}
			made.lock = content.Bytes()
		case file.Path == "binding.gyp":
			made.compiled = true
		}
	}
	made.manifest.setDefault("version", "0.0.0")
	made.manifest.setDefault("name", name)
	return made, nil
}

func (f fields) setDefault(key, value string) {
	if _, stated := f[key]; !stated {
		f[key] = encode(value)
	}
}

// encode writes JSON; what we write can always be written.
func encode(value any) []byte {
	raw, _ := json.Marshal(value)
	return raw
}

// sections of a package.json list what is installed.
var sections = []string{"dependencies", "optionalDependencies", "peerDependencies"}

const devSection = "devDependencies"

// direct rewrites the component's package.json, and adds to it the packages of
// the workspace that others of them depend on.
func (l locals) direct(manifest fields) (changed bool, err error) {
	changed, err = l.rewrite(manifest, true)
	if err != nil || len(l) == 0 {
		return changed, err
	}
	stated := map[string]bool{}
	for _, section := range sections {
		for name := range manifest.texts(section) {
			stated[name] = true
		}
	}
	more := manifest.texts("dependencies")
	for name, one := range l {
		if !stated[name] {
			more[name] = one.spec()
		}
	}
	manifest["dependencies"] = encode(more)
	return true, nil
}

// text is a field that holds one.
func (f fields) text(key string) (text string) {
	_ = json.Unmarshal(f[key], &text) // what is no text is npm's to refuse
	return text
}

// texts are a section's dependencies, never nil.
func (f fields) texts(section string) map[string]string {
	all := map[string]string{}
	_ = json.Unmarshal(f[section], &all) // what is no text is npm's to refuse
	return all
}

// rewrite replaces what a package.json, or an entry of a lockfile, says of
// packages on this machine. The component's own states where they are; others
// find them beside themselves and state nothing, or npm would ask a registry
// about them. Those for development are not installed.
func (l locals) rewrite(manifest fields, own bool) (changed bool, err error) {
	for _, section := range append(sections, devSection) {
		all := manifest.texts(section)
		before := maps.Clone(all)
		for _, name := range slices.Sorted(maps.Keys(before)) {
			switch one := l[name]; {
			case !workspace.IsLocal(before[name]) && !one.linked(before[name]):
				if own && one != nil && section != devSection {
					return false, &TwoPackagesError{Name: name}
				}
			case one == nil && section != devSection:
				return false, &LocalDependencyError{Dependency: name + " (" + before[name] + ")"}
			case own && section != devSection:
				all[name] = one.spec()
			default:
				delete(all, name)
			}
		}
		if !maps.Equal(all, before) {
			manifest[section], changed = encode(all), true
		}
	}
	return changed, nil
}

// linked tells whether npm takes the package where a version is stated.
func (l *local) linked(spec string) bool {
	return l != nil && workspace.Satisfies(l.manifest.text("version"), spec)
}

// LocalDependencyError says that a package is taken from this machine which is
// none of the workspace's.
type LocalDependencyError struct {
	// Dependency is its name and where it is.
	Dependency string
}

func (e *LocalDependencyError) Error() string {
	return e.Dependency + " is on this machine only"
}

// Hint is how to mend it.
func (e *LocalDependencyError) Hint() string {
	return "publish the package to a registry and state its version"
}

// UnlockedError says that a component has a lockfile which does not tell what a
// package of the workspace needs in turn: npm locks nothing of directories
// outside of the component.
type UnlockedError struct {
	Component string
	// Repository is the directory of the lockfile that several packages share,
	// or empty.
	Repository string
	// Package needs what is Missing.
	Package string
	Missing []string
}

func (e *UnlockedError) Error() string {
	return fmt.Sprintf("no lockfile says which %s package %s gets", e.Missing[0], e.Package)
}

// Hint is how to mend it.
func (e *UnlockedError) Hint() string {
	if e.Repository != "" {
		return "run npm install in " + e.Repository + ", and commit the lockfile"
	}
	return "run npm install in the directory of " + e.Package + ", and commit the lockfile that it makes there"
}
