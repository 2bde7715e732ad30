package cache

import (
	"bytes"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
)

// listing is the stored form of a directory: the rules that made it, the key
// of the files that are shipped, and of each directory and file its stamp.
//
//	rules, tree key, then count and entries of directories, then of files
type listing struct{ payload []byte }

// An entry's flags.
const (
	flagSettled = 1 << iota // the stamp is old enough to be trusted
	flagLink                // a symlink: a target follows instead of a digest
	flagExec
	flagHidden // decides what is shipped and is not shipped: .toaignore
)

// found is one file of a scan.
type found struct {
	File
	stamp stamp
	flags byte
}

// place is one directory of a scan; path "" is the directory itself.
type place struct {
	path    string
	stamp   stamp
	settled bool
}

// scanned is the outcome of reading a directory.
type scanned struct {
	places []place
	files  []found // in path order
	packer packer
}

// outcomes are used again: a cold scan of many directories is slowed down by what
// it allocates.
var outcomes = sync.Pool{New: func() any { return new(scanned) }}

// release gives the outcome back, and what pack has returned of it.
func (s *scanned) release() {
	clear(s.places)
	clear(s.files)
	s.places, s.files = s.places[:0], s.files[:0]
	outcomes.Put(s)
}

// shipped are the files that are not hidden.
func (s *scanned) shipped() iter.Seq[*File] {
	return func(yield func(*File) bool) {
		for i := range s.files {
			if s.files[i].flags&flagHidden == 0 && !yield(&s.files[i].File) {
				return
			}
		}
	}
}

// pack is the outcome as a listing stores it, until it is released.
func (s *scanned) pack(rules []byte) []byte {
	p := &s.packer
	p.buf = p.buf[:0]
	p.bytes(rules)
	p.key(keyOf(s.shipped()))
	p.uint(uint64(len(s.places)))
	var before stamp
	for _, dir := range s.places {
		p.string(dir.path)
		var flags byte
		if dir.settled {
			flags = flagSettled
		}
		p.buf = append(p.buf, flags)
		p.stamp(dir.stamp, before)
		before = dir.stamp
	}
	p.uint(uint64(len(s.files)))
	for i := range s.files {
		file := &s.files[i]
		p.string(file.Path)
		p.buf = append(p.buf, file.flags)
		p.stamp(file.stamp, before)
		before = file.stamp
		if file.Kind == Symlink {
			p.string(file.Link)
		} else {
			p.key(file.Digest)
		}
	}
	return p.buf
}

// madeBy tells whether the same rules made the listing.
func (l *listing) madeBy(rules []byte) bool {
	u := unpacker{buf: l.payload}
	return bytes.Equal(u.bytes(), rules)
}

// each calls check for every directory and file until it says no. It is false
// if any check was, or if a stamp was too young to be trusted. It allocates
// nothing.
func (l *listing) each(check func(path []byte, s stamp) bool) bool {
	u := l.places()
	var at stamp
	for files := range 2 {
		for n := u.uint(); n > 0 && !u.bad; n-- {
			path, flags := u.entry(&at)
			if files == 1 {
				u.skipContent(flags)
			}
			if u.bad || flags&flagSettled == 0 || !check(path, at) {
				return false
			}
		}
	}
	return !u.bad
}

// places begins reading at the count of directories.
func (l *listing) places() unpacker {
	u := unpacker{buf: l.payload}
	u.bytes()
	u.key()
	return u
}

// root is the stamp of the directory itself.
func (l *listing) root() stamp {
	u := l.places()
	u.uint()
	var at stamp
	u.entry(&at)
	return at
}

// digest finds a regular file directly in the directory.
func (l *listing) digest(name string) (Key, bool) {
	u := l.places()
	var at stamp
	for n := u.uint(); n > 0 && !u.bad; n-- {
		u.entry(&at)
	}
	for n := u.uint(); n > 0 && !u.bad; n-- {
		path, flags := u.entry(&at)
		if string(path) == name && flags&flagLink == 0 {
			k := u.key()
			return k, !u.bad
		}
		u.skipContent(flags)
	}
	return Key{}, false
}

// entry reads one entry; at is the stamp of the one before, and then its own.
func (u *unpacker) entry(at *stamp) (path []byte, flags byte) {
	path = u.bytes()
	if b := u.take(1); b != nil {
		flags = b[0]
	}
	*at = u.stamp(*at)
	return path, flags
}

func (u *unpacker) skipContent(flags byte) {
	if flags&flagLink != 0 {
		u.bytes()
	} else {
		u.take(uint64(len(Key{})))
	}
}

// files reads back all files, hidden ones too.
func (l *listing) files() []found {
	u := l.places()
	var at stamp
	for n := u.uint(); n > 0 && !u.bad; n-- {
		u.entry(&at)
	}
	var files []found
	for n := u.uint(); n > 0 && !u.bad; n-- {
		path, flags := u.entry(&at)
		file := found{stamp: at, flags: flags, File: File{Path: string(path), Size: at.size, Exec: flags&flagExec != 0}}
		if flags&flagLink != 0 {
			file.Kind, file.Link = Symlink, u.string()
		} else {
			file.Digest = u.key()
		}
		files = append(files, file)
	}
	if u.bad {
		return nil
	}
	return files
}

// tree is the listing as a Tree, whose files are unpacked when they are asked for.
func (l *listing) tree() *Tree {
	u := unpacker{buf: l.payload}
	u.bytes()
	return &Tree{Key: u.key(), list: sync.OnceValue(func() []File {
		all := l.files()
		files := make([]File, 0, len(all))
		for file := range (&scanned{files: all}).shipped() {
			files = append(files, *file)
		}
		return files
	})}
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), strings.Compare)
}
