package workspace

import (
	"path"
	"slices"
	"strings"

	"toa.io/toa/document"
)

// linked is the package of the repository that npm links to where a package of
// it states a version: one of that name, if its own version fits. Otherwise npm
// asks a registry, which is worth saying: whoever publishes there under that
// name has code in the image.
func (k *linking) linked(file string, d dependency) *Local {
	dir := path.Dir(file)
	repository := k.repositoryOf(dir)
	if repository == nil {
		k.warnStranger(file, d)
		return nil
	}
	switch dirs := repository.byName[d.name]; {
	case len(dirs) == 0, slices.Contains(dirs, dir):
		return nil
	case len(dirs) > 1:
		k.twice(file, d, d.name, dirs)
		return nil
	default:
		return k.fitting(file, d, dirs[0])
	}
}

func (k *linking) fitting(file string, d dependency, dir string) *Local {
	version := k.facts(dir).version
	if !Satisfies(version, d.spec) {
		has := "has version " + document.Quote(version)
		if version == "" {
			has = "states no version"
		}
		k.warn(file, d, document.Quote(dir)+" "+has+", so npm takes one of that name from a registry")
		return nil
	}
	if !installable.MatchString(d.name) {
		k.fail(file, d, "", "a name that a package can have") // it becomes a path
		return nil
	}
	return &Local{Name: d.name, Path: dir}
}

// warnStranger tells of a package that is called as one of the repository and
// is not linked to, for the repository does not list who depends on it.
func (k *linking) warnStranger(file string, d dependency) {
	repository := k.repositoryAt(".")
	if dirs := repository.byName[d.name]; len(dirs) > 0 && !strings.Contains(file, installedDir) {
		k.warn(file, d, "npm takes one of that name from a registry and not "+document.Quote(dirs[0])+
			", for the repository does not list "+document.Quote(path.Dir(file)))
	}
}

// installedDir is in the paths of packages that are not the repository's own.
const installedDir = "node_modules/"

func (k *linking) warn(file string, d dependency, text string) {
	k.mention(file, []mention{{text: "dependency " + document.Quote(d.name) + " (" + document.Quote(d.spec) + "): " + text, at: d.at}})
}
