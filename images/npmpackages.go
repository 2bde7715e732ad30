package images

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// extensionsDir is where the runtime's own packages are, and where it looks
// for those that extensions need (spec 3.2).
const extensionsDir = "toa"

// extensionPackages is the install of the packages that extensions need. They
// go beside the runtime's, which are not known here: each brings what it needs
// below itself, so that nothing of the runtime's is replaced.
func extensionPackages(step orchestrator.Step) install {
	return install{
		Install: templates.Install{Scripts: "run"},
		step:    step.ID,
		source:  orchestrator.Source{Component: "extensions"},
		npm:     step.Recipe.NPM,
		epoch:   epoch(&step.Recipe),
		prefix:  path.Join(extensionsDir, npmModules),
		beside:  true,
		files:   map[string][]byte{"package.json": packagesJSON(step.Recipe.Packages)},
	}
}

// packagesJSON is a package that depends on those of "name@version".
func packagesJSON(packages []string) []byte {
	dependencies := map[string]string{}
	for _, one := range packages {
		name, version := one, "*"
		if at := strings.LastIndexByte(one, '@'); at > 0 { // not that of a scope
			name, version = one[:at], one[at+1:]
		}
		dependencies[name] = version
	}
	raw, _ := json.Marshal(map[string]any{"private": true, "dependencies": dependencies}) // texts always encode
	return raw
}

// packages are the names of what the job installs at the top.
func (job *install) packages() []string {
	var names []string
	for at := range job.lock.Packages {
		if name, ok := strings.CutPrefix(at, npmModules+"/"); ok && !strings.Contains(name, npmModules+"/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// opaqueMark in a layer hides what lower layers have in its directory.
const opaqueMark = ".wh..wh..opq"

// opaque makes each package replace, and not mix with, one of the same name
// that the base may have. npm's own notes of its tree stay the base's.
func opaque(tree *cache.Tree, packages []string) *cache.Tree {
	files := slices.DeleteFunc(slices.Clone(tree.Files()), func(f cache.File) bool { return f.Path == path.Base(npmTree) })
	for _, name := range packages {
		if slices.ContainsFunc(files, func(f cache.File) bool { return strings.HasPrefix(f.Path, name+"/") }) {
			files = append(files, cache.Generated(path.Join(name, opaqueMark), []byte{}))
		}
	}
	return cache.NewTree(files)
}
