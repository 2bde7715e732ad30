package cache

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
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
	s := &scanner{dir: rules.Dir, begun: f.begun, rules: rules, digester: newDigester(), hands: f.hands, out: outcomes.Get().(*scanned)}
	defer s.digester.release()
	defer s.helpers.Wait()
	if before != nil {
		s.known = map[string]found{}
		for _, file := range before.files() {
			s.known[file.Path] = file
		}
	}
	if err := s.descend(root, "", 0); err != nil {
		return nil, err
	}
	if err := s.gather(); err != nil {
		return nil, err
	}
	slices.SortFunc(s.out.files, func(a, b found) int { return strings.Compare(a.Path, b.Path) })
	return s.out, nil
}

// scanner is one scan of one directory. Everything is reached from the
// directory's descriptor by single names that are never followed, so that a
// link that is swapped in meanwhile leads nowhere.
type scanner struct {
	dir      string
	begun    int64
	rules    Rules
	matcher  *matcher
	known    map[string]found
	digester digester
	out      *scanned
	path     []byte // buffer for names that end in NUL

	// Large files are hashed by helpers as long as there are free hands; what
	// they find is gathered at the end.
	hands   chan struct{}
	helpers sync.WaitGroup
	helped  []*help
}

// help is the digest of one file that a helper hashes.
type help struct {
	at     int // in out.files
	digest Key
	err    error
}

// large is the size from which handing a file over is worth it.
const large = 256 << 10

// delegate has a helper hash a file whose entry comes next, if a hand is free.
// The helper closes the file.
func (s *scanner) delegate(fd int, size int64) bool {
	if size < large {
		return false
	}
	select {
	case s.hands <- struct{}{}:
	default:
		return false
	}
	h := &help{at: len(s.out.files)}
	s.helped = append(s.helped, h)
	s.helpers.Go(func() {
		defer func() { <-s.hands }()
		d := newDigester()
		defer d.release()
		h.digest, h.err = d.digest(fd, size)
		_ = unix.Close(fd)
	})
	return true
}

// gather waits for the helpers and takes over what they found.
func (s *scanner) gather() error {
	s.helpers.Wait()
	for _, h := range s.helped {
		file := &s.out.files[h.at]
		if h.err != nil {
			return s.fail(file.Path, "read: "+h.err.Error(), "")
		}
		file.Digest = h.digest
	}
	return nil
}

// compile makes the matcher, of the directory's own patterns too if it has some.
func (s *scanner) compile(root int, names []name) error {
	own := ""
	if slices.ContainsFunc(names, func(n name) bool { return n.text == IgnoreFile }) {
		fd, err := openAt(root, IgnoreFile, unix.O_NOFOLLOW)
		if err != nil {
			return s.fail(IgnoreFile, "open: "+err.Error(), "")
		}
		defer unix.Close(fd) //nolint:errcheck // opened for reading
		text, err := readSmall(fd)
		if err != nil {
			return s.fail(IgnoreFile, "read: "+err.Error(), "")
		}
		own = string(text)
	}
	m, err := s.rules.compile(own)
	if err != nil {
		return &FileError{Path: s.dir, Msg: err.Error()}
	}
	s.matcher = m
	return nil
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
	names, err := list(fd)
	if err != nil {
		return s.fail(rel, "list: "+err.Error(), "")
	}
	if depth == 0 {
		if err := s.compile(fd, names); err != nil {
			return err
		}
	}
	s.out.places = append(s.out.places, place{path: rel, stamp: at, settled: at.settled(s.begun)})
	prefix := ""
	if rel != "" {
		prefix = rel + "/"
	}
	for _, n := range names {
		if err := s.visit(fd, prefix+n.text, n, depth); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) visit(parent int, rel string, n name, depth int) error {
	v, err := s.matcher.decide(rel)
	if err != nil {
		return s.fail(rel, err.Error(), "")
	}
	hidden := rel == IgnoreFile
	if v.prune || n.kind == unix.S_IFREG && !v.ship && !hidden {
		return nil
	}
	e := entry{parent: parent, rel: rel, name: n.text, hidden: hidden}
	if n.kind != unix.S_IFDIR && (n.kind != unix.S_IFREG || s.known != nil) {
		if err := s.stat(&e); err != nil {
			return err
		}
		n.kind = e.stamp.mode & unix.S_IFMT
	}
	if n.kind != unix.S_IFDIR && !v.ship && !hidden {
		return nil
	}
	if !utf8.ValidString(n.text) {
		return s.fail(rel, "the name is not valid UTF-8", "rename it, or ignore it in "+IgnoreFile)
	}
	switch n.kind {
	case unix.S_IFDIR:
		return s.enter(parent, rel, n.text, depth)
	case unix.S_IFREG:
		return s.regular(e)
	case unix.S_IFLNK:
		return s.link(e)
	default:
		return s.fail(rel, "it is neither a file, a directory nor a link, and cannot be shipped", "remove it, or ignore it in "+IgnoreFile)
	}
}

// entry is something in a directory. Of a file that has to be read anyway the
// stamp is taken then.
type entry struct {
	parent    int
	rel, name string
	hidden    bool
	stamp     stamp
	stamped   bool
}

func (s *scanner) stat(e *entry) error {
	var st unix.Stat_t
	s.path = append(append(s.path[:0], e.name...), 0)
	if err := statAt(e.parent, s.path, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return s.fail(e.rel, "stat: "+err.Error(), "")
	}
	e.stamp, e.stamped = stampOf(&st), true
	return nil
}

func (s *scanner) enter(parent int, rel, name string, depth int) error {
	fd, err := openAt(parent, name, unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return s.fail(rel, "open: "+err.Error(), "")
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading
	return s.descend(fd, rel, depth+1)
}

func (s *scanner) regular(e entry) error {
	var digest Key
	if old, ok := s.known[e.rel]; ok && old.stamp == e.stamp && old.flags&flagSettled != 0 && old.Kind == Regular {
		digest = old.Digest
	} else {
		var err error
		if digest, err = s.read(&e); err != nil {
			return err
		}
	}
	file := found{stamp: e.stamp, File: File{Path: e.rel, Size: e.stamp.size, Digest: digest, Exec: e.stamp.mode&unix.S_IXUSR != 0}}
	if file.Exec {
		file.flags |= flagExec
	}
	if e.hidden {
		file.flags |= flagHidden
	}
	s.add(file)
	return nil
}

// read hashes a file, or has it hashed. Its stamp is of before it is read: a
// change meanwhile gives it another.
func (s *scanner) read(e *entry) (Key, error) {
	fd, err := openAt(e.parent, e.name, unix.O_NOFOLLOW)
	if err != nil {
		return Key{}, s.fail(e.rel, "open: "+err.Error(), "make it readable, or ignore it in "+IgnoreFile)
	}
	handedOver := false
	defer func() {
		if !handedOver {
			_ = unix.Close(fd)
		}
	}()
	if !e.stamped {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return Key{}, s.fail(e.rel, "stat: "+err.Error(), "")
		}
		e.stamp = stampOf(&st)
	}
	if e.stamp.mode&unix.S_IFMT != unix.S_IFREG {
		return Key{}, s.fail(e.rel, "it has just become something else than a file", "try again")
	}
	if handedOver = s.delegate(fd, e.stamp.size); handedOver {
		return Key{}, nil
	}
	digest, err := s.digester.digest(fd, e.stamp.size)
	if err != nil {
		return Key{}, s.fail(e.rel, "read: "+err.Error(), "")
	}
	return digest, nil
}

func (s *scanner) link(e entry) error {
	target, err := readLink(e.parent, e.name)
	if err != nil {
		return s.fail(e.rel, "read link: "+err.Error(), "")
	}
	if !staysInside(e.rel, target) {
		return s.fail(e.rel, fmt.Sprintf("the link leads out of the component, to %q", target), "replace it by a copy, or ignore it in "+IgnoreFile)
	}
	s.add(found{stamp: e.stamp, flags: flagLink, File: File{Path: e.rel, Kind: Symlink, Size: int64(len(target)), Link: target}})
	return nil
}

func (s *scanner) add(file found) {
	if file.stamp.settled(s.begun) {
		file.flags |= flagSettled
	}
	s.out.files = append(s.out.files, file)
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
