package images

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// relocking rewrites a lockfile in which packages of the workspace are links
// into one in which they are archives.
type relocking struct {
	locals
	// links are the names under which directories are linked to.
	links map[string][]string
	made  map[string]fields
}

// relock rewrites the component's lockfile.
func (l locals) relock(data []byte) ([]byte, error) {
	var lock fields
	if err := json.Unmarshal(data, &lock); err != nil {
		return nil, fmt.Errorf("read lockfile: %w", err)
	}
	packages, err := packagesOf(data)
	if err != nil {
		return nil, err
	}
	r := &relocking{locals: l, links: linksOf(packages), made: map[string]fields{}}
	for _, at := range slices.Sorted(maps.Keys(packages)) {
		if err := r.entry(at, packages[at]); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if err := r.complete(name); err != nil {
			return nil, err
		}
	}
	delete(lock, "dependencies") // the same once more, for npm before version 7
	lock["packages"] = encode(r.made)
	return encode(lock), nil
}

func packagesOf(lock []byte) (map[string]fields, error) {
	var content struct {
		Packages map[string]fields `json:"packages"`
	}
	if err := json.Unmarshal(lock, &content); err != nil {
		return nil, fmt.Errorf("read lockfile: %w", err)
	}
	return content.Packages, nil
}

func linksOf(packages map[string]fields) map[string][]string {
	links := map[string][]string{}
	for at, p := range packages {
		if p.is("link") {
			links[p.resolved()] = append(links[p.resolved()], npmName(at))
		}
	}
	return links
}

func (f fields) is(key string) bool { return string(f[key]) == "true" }

// resolved is where an entry of a lockfile says that its package is.
func (f fields) resolved() string { return f.text("resolved") }

// entry takes over one entry of the lockfile, to where it is from now on. What
// the lockfile says of the packages' directories is as old as it is: their own
// package.json counts.
func (r *relocking) entry(at string, p fields) error {
	target, below := r.split(at)
	switch name := npmName(at); {
	case at == "":
		_, err := r.direct(p)
		r.made[at] = p
		return err
	case p.is("link"), target != "" && (below == "" || p.is("dev")):
		return nil
	case r.locals[name] != nil && strings.HasPrefix(p.resolved(), "file:"):
		p["resolved"] = encode(r.locals[name].spec())
		r.made[npmModules+"/"+name] = p
		return nil
	case target == "":
		return r.put(at, p)
	}
	for _, name := range r.links[target] {
		if r.locals[name] == nil {
			continue
		}
		if err := r.put(npmModules+"/"+name+below, p); err != nil {
			return err
		}
	}
	return nil
}

// split finds the linked directory that an entry is of, and where below it.
func (r *relocking) split(at string) (target, below string) {
	for dir := at; dir != ""; {
		if len(r.links[dir]) > 0 {
			return dir, at[len(dir):]
		}
		dir = dir[:max(0, strings.LastIndex(dir, "/"+npmModules+"/"))]
	}
	return "", ""
}

// put puts the entry of a registry's package in its place.
func (r *relocking) put(at string, p fields) error {
	if name := strings.TrimPrefix(at, npmModules+"/"); r.locals[name] != nil {
		return &TwoPackagesError{Name: name}
	}
	r.made[at] = p
	return nil
}

// complete adds the entry of a directory, and what its own lockfile says where
// the component's does not tell what it gets.
func (r *relocking) complete(name string) error {
	one := r.locals[name]
	if one.manifest == nil {
		return nil
	}
	r.made[npmModules+"/"+name] = one.entry()
	if len(r.missing(name)) > 0 && one.lock != nil {
		if err := r.merge(name, one.lock); err != nil {
			return err
		}
	}
	if missing := r.missing(name); len(missing) > 0 {
		return &UnlockedError{Package: name, Missing: missing}
	}
	r.keepPeers(name)
	return nil
}

// keepPeers makes peers that are below a package ordinary dependencies of it:
// to npm a peer is what is beside it.
func (r *relocking) keepPeers(name string) {
	made := r.made[npmModules+"/"+name]
	peers, own := made.texts("peerDependencies"), made.texts("dependencies")
	for peer, spec := range maps.Clone(peers) {
		if r.made[npmModules+"/"+name+"/"+npmModules+"/"+peer] != nil {
			own[peer] = spec
			delete(peers, peer)
		}
	}
	if len(peers) < len(made.texts("peerDependencies")) {
		made["peerDependencies"], made["dependencies"] = encode(peers), encode(own)
	}
}

// entry is what a lockfile says of a package.
func (l *local) entry() fields {
	made := fields{"resolved": encode(l.spec())}
	for _, key := range append([]string{"version", "bin", "engines", "os", "cpu", "libc", "peerDependenciesMeta"}, sections...) {
		if value, stated := l.manifest[key]; stated {
			made[key] = value
		}
	}
	scripts := l.manifest.texts("scripts")
	if l.compiled || scripts["preinstall"]+scripts["install"]+scripts["postinstall"] != "" {
		made["hasInstallScript"] = encode(true)
	}
	return made
}

// missing are the dependencies of a package that the lockfile lacks, sorted.
func (r *relocking) missing(name string) []string {
	var missing []string
	for dependency := range r.locals[name].manifest.texts("dependencies") {
		beside, below := npmModules+"/"+dependency, npmModules+"/"+name+"/"+npmModules+"/"+dependency
		if r.made[beside] == nil && r.made[below] == nil {
			missing = append(missing, dependency)
		}
	}
	slices.Sort(missing)
	return missing
}

// merge takes over what a package's own lockfile says, to below the package.
func (r *relocking) merge(name string, lock []byte) error {
	packages, err := packagesOf(lock)
	if err != nil {
		return fmt.Errorf("read package %s: %w", name, err)
	}
	for at, p := range packages {
		if strings.HasPrefix(at, npmModules+"/") && !p.is("dev") && !p.is("link") && !strings.HasPrefix(p.resolved(), "file:") {
			r.made[npmModules+"/"+name+"/"+at] = p
		}
	}
	return nil
}

// TwoPackagesError says that a package of the workspace and one of a registry
// have the same name, and both are at the top.
type TwoPackagesError struct{ Name string }

func (e *TwoPackagesError) Error() string {
	return fmt.Sprintf("package %s of the workspace and one of that name from a registry are both installed", e.Name)
}

// Hint is how to mend it.
func (e *TwoPackagesError) Hint() string {
	return "give the package of the workspace another name, or run npm install if the lockfile is older than it"
}
