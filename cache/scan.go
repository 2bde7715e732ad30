package cache

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// maxDepth bounds directories within directories: each holds a descriptor
// while it is read.
const maxDepth = 100

// scan reads a directory anew. Files whose stamps are those of a known
// listing are not read.
func (f *Files) scan(rules Rules, before *known) (*scanned, error) {
	root, err := openAt(f.root, rules.Dir, unix.O_DIRECTORY)
	if err != nil {
		return nil, &FileError{Path: rules.Dir, Msg: "open: " + err.Error()}
	}
	defer unix.Close(root) //nolint:errcheck // opened for reading
	s := &scanner{dir: rules.Dir, begun: f.begun, known: map[string]found{}}
	if before != nil {
		for _, file := range before.files() {
			s.known[file.Path] = file
		}
	}
	own, err := s.ownIgnore(root)
	if err != nil {
		return nil, err
	}
	if s.rules, err = rules.compile(own); err != nil {
		return nil, &FileError{Path: rules.Dir, Msg: err.Error()}
	}
	if err := s.descend(root, "", 0); err != nil {
		return nil, err
	}
	slices.SortFunc(s.out.files, func(a, b found) int { return strings.Compare(a.Path, b.Path) })
	return &s.out, nil
}

// scanner is one scan of one directory. Everything is reached from the
// directory's descriptor by single names that are never followed, so that a
// link that is swapped in meanwhile leads nowhere.
type scanner struct {
	dir   string
	begun int64
	rules *matcher
	known map[string]found
	out   scanned
	names []byte // buffer for names that end in NUL
}

func (s *scanner) ownIgnore(root int) (string, error) {
	fd, err := openAt(root, IgnoreFile, 0)
	if errors.Is(err, unix.ENOENT) {
		return "", nil
	}
	if err != nil {
		return "", s.fail(IgnoreFile, "open: "+err.Error(), "")
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading
	text, err := readSmall(fd)
	if err != nil {
		return "", s.fail(IgnoreFile, err.Error(), "")
	}
	return string(text), nil
}

func (s *scanner) descend(fd int, rel string, depth int) error {
	if depth > maxDepth {
		return s.fail(rel, fmt.Sprintf("directories are nested deeper than %d", maxDepth), "ignore it in "+IgnoreFile)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return s.fail(rel, "stat: "+err.Error(), "")
	}
	at := stampOf(&st) // before the listing: an entry that comes later moves it
	names, err := listNames(fd)
	if err != nil {
		return s.fail(rel, "list: "+err.Error(), "")
	}
	s.out.places = append(s.out.places, place{path: rel, stamp: at, settled: at.settled(s.begun)})
	for _, name := range names {
		if err := s.visit(fd, path.Join(rel, name), name, depth); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) visit(parent int, rel, name string, depth int) error {
	v, err := s.rules.decide(rel)
	if err != nil {
		return s.fail(rel, err.Error(), "")
	}
	if v.prune {
		return nil
	}
	var st unix.Stat_t
	s.names = append(append(s.names[:0], name...), 0)
	if err := statAt(parent, s.names, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return s.fail(rel, "stat: "+err.Error(), "")
	}
	kind := uint32(st.Mode) & unix.S_IFMT //nolint:unconvert // narrower on darwin
	hidden := rel == IgnoreFile
	if kind != unix.S_IFDIR && !v.ship && !hidden {
		return nil
	}
	if !utf8.ValidString(name) {
		return s.fail(rel, "the name is not valid UTF-8", "rename it, or ignore it in "+IgnoreFile)
	}
	switch kind {
	case unix.S_IFDIR:
		return s.enter(parent, rel, name, depth)
	case unix.S_IFREG:
		return s.regular(parent, rel, name, stampOf(&st), hidden)
	case unix.S_IFLNK:
		return s.link(parent, rel, name, stampOf(&st))
	default:
		return s.fail(rel, "it is neither a file, a directory nor a link, and cannot be shipped", "remove it, or ignore it in "+IgnoreFile)
	}
}

func (s *scanner) enter(parent int, rel, name string, depth int) error {
	fd, err := openAt(parent, name, unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return s.fail(rel, "open: "+err.Error(), "")
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading
	return s.descend(fd, rel, depth+1)
}

func (s *scanner) regular(parent int, rel, name string, at stamp, hidden bool) error {
	file := found{stamp: at, File: File{Path: rel, Size: at.size, Exec: at.mode&unix.S_IXUSR != 0}}
	if file.Exec {
		file.flags |= flagExec
	}
	if hidden {
		file.flags |= flagHidden
	}
	if at.settled(s.begun) {
		file.flags |= flagSettled
	}
	if old, ok := s.known[rel]; ok && old.stamp == at && old.flags&flagSettled != 0 && old.Kind == Regular {
		file.Digest = old.Digest
	} else {
		fd, err := openAt(parent, name, unix.O_NOFOLLOW)
		if err != nil {
			return s.fail(rel, "open: "+err.Error(), "make it readable, or ignore it in "+IgnoreFile)
		}
		file.Digest, err = digestOf(fd, at.size)
		_ = unix.Close(fd)
		if err != nil {
			return s.fail(rel, "read: "+err.Error(), "")
		}
	}
	s.out.files = append(s.out.files, file)
	return nil
}

func (s *scanner) link(parent int, rel, name string, at stamp) error {
	target, err := readLink(parent, name)
	if err != nil {
		return s.fail(rel, "read link: "+err.Error(), "")
	}
	if !staysInside(rel, target) {
		return s.fail(rel, fmt.Sprintf("the link leads out of the component, to %q", target), "replace it by a copy, or ignore it in "+IgnoreFile)
	}
	file := found{stamp: at, flags: flagLink, File: File{Path: rel, Kind: Symlink, Size: int64(len(target)), Link: target}}
	if at.settled(s.begun) {
		file.flags |= flagSettled
	}
	s.out.files = append(s.out.files, file)
	return nil
}

func (s *scanner) fail(rel, msg, fix string) error {
	return &FileError{Path: path.Join(s.dir, rel), Msg: msg, Fix: fix}
}

// staysInside tells whether a link at rel leads nowhere but into the tree that
// holds it. Steps up are only taken before any name, where they are counted
// against real directories: after a name, which may be a link itself, ".."
// would lead where no one can tell from the text.
func staysInside(rel, target string) bool {
	if target == "" || strings.HasPrefix(target, "/") {
		return false
	}
	depth := strings.Count(rel, "/")
	down := false
	for _, part := range strings.Split(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; down || depth < 0 {
				return false
			}
		default:
			down = true
		}
	}
	return true
}
