package workspace

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
)

// carving makes a lockfile of one package out of that of its repository.
//
// The package finds others in two node_modules, its own and the repository's; in
// an image it has its own only. So what was in either goes there, as it lay.
// Where both have a package of one name, the component's stays at the top. The
// repository's is displaced, and so is who finds it: they get places together
// below those at the top that need them, where they find each other and not
// what is at the top.
type carving struct {
	*RepositoryLock
	member string
	// needed are the places that are reached: true where that takes no optional
	// dependency.
	needed map[string]bool
	// placed are the places in the repository of what is installed, by the
	// places that they get.
	placed map[string]string
	// displaced are places of which none goes to the top, unless the component
	// itself depends on it.
	displaced map[string]bool
	// links are the places that are reached and lead to directories, sorted.
	links []string
}

// reach goes wherever dependencies lead, or wherever those lead that are not
// optional.
func (c *carving) reach(optional bool) {
	seen := map[string]bool{c.member: true}
	for todo := []string{c.member}; len(todo) > 0; {
		last := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, edge := range c.edges(last) {
			if seen[edge.to] || edge.section == optionalSection && !optional {
				continue
			}
			seen[edge.to] = true
			c.needed[edge.to] = c.needed[edge.to] || !optional
			todo = append(todo, edge.to)
		}
	}
	for _, place := range slices.Sorted(maps.Keys(c.needed)) {
		if c.at(place).dir != "" {
			c.links = append(c.links, place)
		}
	}
	c.links = distinct(c.links)
}

// displace finds what cannot be at the top.
func (c *carving) displace() {
	for place := range c.needed {
		name, top := strings.CutPrefix(place, installedDir)
		_, taken := c.needed[path.Join(c.member, installedDir, name)]
		c.displaced[place] = top && taken
	}
	finds := func(edge lockedEdge) bool { return c.displaced[edge.to] }
	for grown := true; grown; {
		grown = false
		for place := range c.needed {
			movable := strings.HasPrefix(place, installedDir) && c.at(place).dir == ""
			if movable && !c.displaced[place] && slices.ContainsFunc(c.edges(place), finds) {
				c.displaced[place], grown = true, true
			}
		}
	}
}

// settle gives everything a place until everybody finds what they did. What is
// placed late may hide something from who was served early, hence the rounds.
func (c *carving) settle() {
	for grown := true; grown; {
		grown = false
		for todo := slices.Sorted(maps.Keys(c.placed)); len(todo) > 0; {
			more := c.serve(todo[0])
			todo = append(todo[1:], more...)
			grown = grown || len(more) > 0
		}
	}
}

// serve places what the package at a place lacks.
func (c *carving) serve(at string) (more []string) {
	for _, edge := range c.edges(c.placed[at]) {
		if found := c.find(at, edge.name); found != "" && c.placed[found] == edge.to {
			continue
		}
		more = append(more, c.put(c.choose(at, edge), edge.to)...)
	}
	return more
}

// choose is the best place for what the package at a place lacks.
func (c *carving) choose(at string, edge lockedEdge) string {
	own := path.Join(at, installedDir, edge.name)
	for _, place := range []string{c.home(edge.to), path.Join(atTop(at), installedDir, edge.name)} {
		if c.suits(place, at, edge) {
			return place
		}
	}
	return own
}

// atTop is the place at the top that one is, or is below.
func atTop(at string) string {
	if i := strings.Index(at, "/"+installedDir); i >= 0 {
		return at[:i]
	}
	return at
}

// maxCopies bounds how often what is needed is placed, on average. Only a circle
// of versions that no tree can hold gets there; npm says what is missing then.
const maxCopies = 16

// put places a package, with those that its archive brings.
func (c *carving) put(at, from string) []string {
	if len(c.placed) > maxCopies*(len(c.needed)+1) {
		return nil
	}
	c.placed[at] = from
	more := []string{at}
	for _, bundled := range c.bundled[from] {
		below := at + bundled[len(from):]
		c.placed[below] = bundled
		c.needed[bundled] = c.needed[bundled] || c.needed[from]
		more = append(more, below)
	}
	return more
}

// find is where a package is found from a place, or "".
func (c *carving) find(at, name string) string {
	for {
		place := path.Join(at, installedDir, name)
		if _, taken := c.placed[place]; taken {
			return place
		}
		if at == "" {
			return ""
		}
		at = strings.TrimSuffix(at[:max(0, strings.LastIndex(at, installedDir))], "/")
	}
}

// home is where a package goes if nothing is in the way.
func (c *carving) home(from string) string {
	if own, ok := strings.CutPrefix(from, c.member+"/"+installedDir); ok {
		return installedDir + own
	}
	for _, place := range c.links {
		if below, ok := strings.CutPrefix(from, c.at(place).dir+"/"+installedDir); ok {
			return path.Join(place, installedDir, below)
		}
	}
	return from
}

// suits tells whether the package at a place finds there what it depends on,
// and nobody else's place is taken.
func (c *carving) suits(place, at string, edge lockedEdge) bool {
	dir, ok := strings.CutSuffix(place, installedDir+edge.name)
	if !ok || !strings.HasPrefix(at+"/", dir) && dir != "" {
		return false
	}
	if dir == "" && at != "" && c.displaced[edge.to] {
		return false
	}
	found := c.find(at, edge.name)
	return found == "" || len(found) < len(place)
}

// part writes down what was placed.
func (c *carving) part() *LockPart {
	links, packages := map[string]string{}, map[string]any{}
	for at, from := range c.placed {
		if dir := c.at(from).dir; dir != "" && at != "" {
			links[at[strings.LastIndex(at, installedDir)+len(installedDir):]] = dir
			packages[at] = map[string]any{"resolved": dir, "link": true}
		} else {
			packages[at] = c.entry(at, from)
		}
	}
	lock, _ := json.Marshal(map[string]any{"lockfileVersion": c.version, "requires": true, "packages": packages}) // it was JSON before
	return &LockPart{Lockfile: lock, Links: links}
}

// entry is what a lockfile says of a package where it is now.
func (c *carving) entry(at, from string) map[string]any {
	made := map[string]any{}
	for key, value := range c.at(from).says {
		made[key] = value
	}
	for _, flag := range []string{"dev", "devOptional", "optional", "peer", "extraneous"} {
		delete(made, flag) // they tell of the repository
	}
	if at == "" {
		delete(made, "devDependencies")
		return made
	}
	if !c.needed[from] {
		made["optional"] = true
	}
	for section, wanted := range c.restated(at, from) {
		if made[section] = wanted; len(wanted) == 0 {
			delete(made, section)
		}
	}
	return made
}

// restated are sections of an entry that npm would not find met as they are: a
// peer below the package itself is an ordinary dependency, and where the
// repository's `overrides` chose a version, that is what is wanted.
func (c *carving) restated(at, from string) map[string]map[string]string {
	sections, changed := map[string]map[string]string{}, map[string]map[string]string{}
	for _, section := range lockSections {
		wanted := map[string]string{}
		_ = json.Unmarshal(c.at(from).says[section], &wanted)
		sections[section] = wanted
		if wanted == nil { // null
			sections[section] = map[string]string{}
		}
	}
	for _, edge := range c.edges(from) {
		section, wanted := edge.section, cmp.Or(edge.chosen, edge.wanted)
		if section == peerSection && c.find(at, edge.name) == path.Join(at, installedDir, edge.name) {
			section = lockSections[0]
		}
		if section == edge.section && wanted == edge.wanted {
			continue
		}
		delete(sections[edge.section], edge.name)
		sections[section][edge.name] = wanted
		changed[section], changed[edge.section] = sections[section], sections[edge.section]
	}
	return changed
}
