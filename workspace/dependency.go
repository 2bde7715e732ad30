package workspace

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"toa.io/toa/document"
)

// dependency is one that a package.json states to be on this machine, or one
// that may be: npm links to a package of the repository whose name and version
// fit.
type dependency struct {
	name, spec string
	at         document.Place
}

// repositoryScheme is how package managers other than npm name packages of the
// same repository.
const repositoryScheme = "workspace:"

// localSchemes name a directory or an archive.
var localSchemes = []string{"file:", "link:", "portal:"}

// IsLocal tells whether a dependency, as a package.json states it, is on this
// machine and not in a registry.
func IsLocal(spec string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(spec, prefix) }
	return begins(repositoryScheme) || slices.ContainsFunc(localSchemes, begins) || isFilePath(spec)
}

func isFilePath(spec string) bool {
	return isPath(spec) || strings.HasPrefix(spec, "/") || strings.HasPrefix(spec, "~/")
}

// wanted is the path that the dependency names, or the name of a package of the
// repository: its own, or that of `workspace:name@range`.
func (d dependency) wanted() (text string, byName bool) {
	rest, byName := strings.CutPrefix(d.spec, repositoryScheme)
	if !byName || isFilePath(rest) {
		for _, scheme := range localSchemes {
			rest = strings.TrimPrefix(rest, scheme)
		}
		return rest, false
	}
	if at := strings.LastIndexByte(rest, '@'); at > 0 { // not that of a scope
		return rest[:at], true
	}
	return d.name, true
}

// near tells whether a dependency is on this machine, or may be.
func near(spec string) bool { return IsLocal(spec) || !elsewhere(spec) }

// nearDependencies are those of the sections of a package.json that are, or may
// be, on this machine, sorted by name.
func nearDependencies(text []byte, sections map[string]map[string]json.RawMessage) []dependency {
	var all []dependency
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		for name, raw := range sections[section] {
			var spec string
			if json.Unmarshal(raw, &spec) == nil && near(spec) {
				all = append(all, dependency{name, spec, keyPlace(text, section, name)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b dependency) int { return strings.Compare(a.name, b.name) })
	return slices.CompactFunc(all, func(a, b dependency) bool { return a.name == b.name })
}

// keyPlace is where in a JSON document a key stands that is reached by keys.
func keyPlace(text []byte, keys ...string) document.Place {
	d := json.NewDecoder(bytes.NewReader(text))
	for _, key := range keys {
		if _, err := d.Token(); err != nil {
			break
		}
		for d.More() {
			name, err := d.Token()
			var skipped json.RawMessage
			if err != nil || name == key || d.Decode(&skipped) != nil {
				break
			}
		}
	}
	last := keys[len(keys)-1]
	return placeAt(text, int(d.InputOffset())-len(last)-len(`""`))
}
