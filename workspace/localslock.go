package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// RepositoryLock is a lockfile of npm's, as it stands at the root of a
// repository of several packages. It may not be used from several goroutines.
type RepositoryLock struct {
	version json.RawMessage
	// places are the packages by where they are: a directory of the repository,
	// or a path of node_modules.
	places map[string]json.RawMessage
	known  map[string]*lockedPackage
	// bundled are the places of packages that come in the archive of another
	// one, by its place.
	bundled map[string][]string
}

// lockedPackage is an entry of a lockfile.
type lockedPackage struct {
	says map[string]json.RawMessage
	// dir is the directory that the entry links to, or empty.
	dir   string
	edges []lockedEdge
}

// lockedEdge is what a package gets for one that it depends on.
type lockedEdge struct {
	name, section, wanted string
	// chosen is the version that it gets, though it does not want that: the
	// repository's `overrides` say so.
	chosen string
	// to is the place of what it gets.
	to string
}

// ReadRepositoryLock reads a lockfile of version 2 or 3; older ones know of no
// repositories. An error is of encoding/json.
func ReadRepositoryLock(data []byte) (*RepositoryLock, error) {
	var says struct {
		Version  json.RawMessage            `json:"lockfileVersion"`
		Packages map[string]json.RawMessage `json:"packages"`
	}
	if err := json.Unmarshal(data, &says); err != nil {
		return nil, err
	}
	l := &RepositoryLock{version: says.Version, places: says.Packages, known: map[string]*lockedPackage{}, bundled: map[string][]string{}}
	for _, at := range slices.Sorted(maps.Keys(l.places)) {
		if bytes.Contains(l.places[at], []byte(`"inBundle"`)) && l.at(at).is("inBundle") { // few are
			bundler := l.bundler(at)
			l.bundled[bundler] = append(l.bundled[bundler], at)
		}
	}
	return l, nil
}

// at is the entry of a place that there is. What it links to counts as its own.
func (l *RepositoryLock) at(place string) *lockedPackage {
	if p := l.known[place]; p != nil {
		return p
	}
	p := &lockedPackage{}
	l.known[place] = p
	_ = json.Unmarshal(l.places[place], &p.says) // what is no object has nothing, and is npm's to refuse
	if p.is("link") {
		_ = json.Unmarshal(p.says["resolved"], &p.dir)
	}
	return p
}

func (p *lockedPackage) is(key string) bool { return string(p.says[key]) == "true" }

// bundler is the nearest place above one that is in no archive of another.
func (l *RepositoryLock) bundler(place string) string {
	for {
		up := strings.LastIndex(place, "/"+installedDir)
		if up < 0 {
			return ""
		}
		if place = place[:up]; !l.at(place).is("inBundle") {
			return place
		}
	}
}

// lockSections of an entry list what is installed for a package.
var lockSections = []string{"dependencies", "optionalDependencies", "peerDependencies"}

const optionalSection, peerSection = "optionalDependencies", "peerDependencies"

// edges are what the package at a place gets, sorted by name; a peer that it can
// do without counts for nobody.
func (l *RepositoryLock) edges(place string) []lockedEdge {
	p := l.at(place)
	if p.edges != nil {
		return p.edges
	}
	from, says := place, p.says
	if p.dir != "" {
		from, says = p.dir, l.at(p.dir).says
	}
	p.edges = []lockedEdge{}
	var about map[string]struct{ Optional bool }
	_ = json.Unmarshal(says["peerDependenciesMeta"], &about)
	for _, section := range lockSections {
		var wanted map[string]string
		_ = json.Unmarshal(says[section], &wanted)
		for name, spec := range wanted {
			dispensable := section == peerSection && about[name].Optional
			if to, there := l.seenFrom(from, name); there && !dispensable {
				p.edges = append(p.edges, lockedEdge{name, section, spec, l.chosen(to, spec), to})
			}
		}
	}
	slices.SortStableFunc(p.edges, func(a, b lockedEdge) int { return strings.Compare(a.name, b.name) })
	p.edges = slices.CompactFunc(p.edges, func(a, b lockedEdge) bool { return a.name == b.name })
	return p.edges
}

// chosen is the version of the package at a place, if a dependency that gets it
// does not want that one.
func (l *RepositoryLock) chosen(place, wanted string) (version string) {
	p := l.at(place)
	_ = json.Unmarshal(p.says["version"], &version)
	if p.dir != "" || elsewhere(wanted) || Satisfies(version, wanted) {
		return ""
	}
	return version
}

// seenFrom finds a package as Node does from a directory.
func (l *RepositoryLock) seenFrom(dir, name string) (place string, there bool) {
	for {
		place = path.Join(dir, installedDir, name)
		if _, there = l.places[place]; there {
			return place, true
		}
		if dir == "" || dir == "." || dir == "/" {
			return "", false
		}
		dir = path.Dir(dir)
	}
}

// LockPart is what one package of a repository gets of its lockfile.
type LockPart struct {
	// Lockfile is one of that package alone, for it without what is for
	// development. Packages of the repository are links in it.
	Lockfile []byte
	// Links are the directories of these, by the names that they have in
	// node_modules.
	Links map[string]string
}

// Digest names the part for people and keys.
func (p *LockPart) Digest() string { return fmt.Sprintf("part sha256:%x", sha256.Sum256(p.Lockfile)) }

// Part is what the package in a directory of the repository gets, or nil where
// the lockfile does not know of it.
func (l *RepositoryLock) Part(member string) *LockPart {
	if _, there := l.places[member]; !there || member == "" {
		return nil
	}
	c := &carving{RepositoryLock: l, member: member, needed: map[string]bool{}, placed: map[string]string{"": member}, displaced: map[string]bool{}}
	c.reach(false)
	c.reach(true)
	c.displace()
	c.settle()
	return c.part()
}
