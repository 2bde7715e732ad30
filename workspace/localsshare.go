package workspace

import (
	"maps"
	"path"
	"slices"
	"strings"

	"toa.io/toa/document"
)

// SharedLock is the lockfile of a repository, for one component that it lists.
type SharedLock struct {
	// Path is a slash path below the root of the workspace.
	Path string
	// Member is the directory of the component as the lockfile calls it.
	Member string
	// Digest is of what the component gets of it: LockPart.Digest.
	Digest string
}

// maxNPMLock bounds lockfiles: the largest known are some 10 MiB.
const maxNPMLock = 64 << 20

// share gives components that have no lockfile the one of their repository, and
// the packages that npm links to by it.
func (k *linking) share() {
	sharers := map[string][]*Component{}
	for _, c := range k.found {
		if !c.HasDependencies || c.Lock != "" {
			continue
		}
		if repository := k.repositoryOf(c.Dir); repository != nil && repository.npm {
			sharers[repository.dir] = append(sharers[repository.dir], c)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(sharers)) {
		name := k.lockfile(dir)
		if name == "" {
			continue
		}
		known := k.parts(path.Join(dir, name), dir, sharers[dir])
		for _, c := range sharers[dir] {
			k.lock(c, dir, name, known[memberOf(dir, c)])
		}
	}
}

// memberOf is what the repository in a directory calls a component.
func memberOf(dir string, c *Component) string {
	if dir == "." {
		return c.Dir
	}
	return strings.TrimPrefix(c.Dir, dir+"/")
}

// lock follows the part of a lockfile that is a component's.
func (k *linking) lock(c *Component, dir, name string, part *lockedPart) {
	file := path.Join(dir, name)
	switch {
	case part == nil: // the file could not be read
	case part.digest == "":
		k.mention(file, []mention{{text: "it does not know of " + document.Quote(c.Dir) + ", whose packages are not locked therefore: run `npm install` in " + document.Quote(dir)}})
	default:
		c.Lock, c.Shared = name, &SharedLock{Path: file, Member: part.member, Digest: part.digest}
		for _, link := range part.links {
			k.add(c, file, link.name, path.Join(dir, link.dir))
		}
	}
}

// add adds a package that the lockfile links to, unless it is known already.
func (k *linking) add(c *Component, file, name, where string) {
	if slices.ContainsFunc(c.Locals, func(one Local) bool { return one.Name == name }) {
		return
	}
	d := dependency{name: name, spec: where}
	if !installable.MatchString(name) {
		k.fail(file, d, "", "a name that a package can have") // it becomes a path
	} else if one := k.look(file, d, where); one != nil {
		c.Locals = append(c.Locals, *one)
		slices.SortFunc(c.Locals, compareLocals)
	}
}

// lockedPart is what is remembered of a LockPart.
type lockedPart struct {
	member, digest string
	links          []lockedLink
}

type lockedLink struct{ name, dir string }

// parts are those of components, by what the repository calls them: nil where
// the lockfile cannot be read, and without a digest for a member that it does
// not know.
func (k *linking) parts(file, dir string, sharers []*Component) map[string]*lockedPart {
	members := make([]string, len(sharers))
	for i, c := range sharers {
		members[i] = memberOf(dir, c)
	}
	var list []lockedPart
	if !k.recall(file, lockSchema, visitParts(&list)) || !covers(list, members) {
		list = k.carve(file, members)
	}
	known := map[string]*lockedPart{}
	for i := range list {
		known[list[i].member] = &list[i]
	}
	return known
}

func covers(list []lockedPart, members []string) bool {
	known := map[string]bool{}
	for _, part := range list {
		known[part.member] = true
	}
	return !slices.ContainsFunc(members, func(member string) bool { return !known[member] })
}

// carve reads a lockfile, and remembers the parts of members.
func (k *linking) carve(file string, members []string) (list []lockedPart) {
	r := newReader(file)
	defer func() { k.errors = append(k.errors, r.Errors()...) }()
	data, err := k.content(file, maxNPMLock)
	if err != nil {
		r.unreachable(err, "")
		return nil
	}
	lock, err := ReadRepositoryLock(data)
	if err != nil {
		r.Fail(jsonPlace(data, err), "run `npm install` in its directory", "%s", jsonProblem(err))
		return nil
	}
	for _, member := range members {
		list = append(list, remember(lock, member))
	}
	k.keep(file, lockSchema, data, visitParts(&list))
	return list
}

func visitParts(list *[]lockedPart) func(*codec) {
	return func(c *codec) { items(c, list, visitPart) }
}

// remember makes a part of a lockfile short.
func remember(lock *RepositoryLock, member string) lockedPart {
	known := lockedPart{member: member}
	part := lock.Part(member)
	if part == nil {
		return known
	}
	known.digest = part.Digest()
	for _, name := range slices.Sorted(maps.Keys(part.Links)) {
		known.links = append(known.links, lockedLink{name, part.Links[name]})
	}
	return known
}

func visitPart(c *codec, p *lockedPart) {
	c.text(&p.member)
	c.text(&p.digest)
	items(c, &p.links, func(c *codec, l *lockedLink) {
		c.text(&l.name)
		c.text(&l.dir)
	})
}
