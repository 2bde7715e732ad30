package cache

import (
	"errors"
	"fmt"
	pathpkg "path"
	"strings"

	"golang.org/x/sys/unix"
)

// single is what is known of one file by itself: its content's digest, and
// what somebody made of that content. Of a file that is not there the stamp is
// its directory's.
type single struct {
	stamp   stamp
	settled bool
	absent  bool
	digest  Key
	memo    []byte
}

// Recall returns what Keep was given for the bytes that path holds now, or for
// its not being there, or nil. Path is a slash path below the root.
func (f *Files) Recall(path string) []byte {
	if s, err := f.single(path); err == nil || errors.Is(err, ErrNotFound) {
		return s.memo
	}
	return nil
}

// Keep remembers memo for as long as path holds content, or for as long as
// there is no such file if content is nil. The caller must not change memo
// afterwards.
func (f *Files) Keep(path string, content, memo []byte) {
	s := single{memo: memo, absent: content == nil}
	if !s.absent {
		s.digest = Digest(content)
		// The stamp may be of a later content: it counts only if it is older
		// than this run, and so than the reading of content.
		at, err := f.look(path)
		if at, err = regularFile(path, at, err); err == nil {
			s.stamp, s.settled = at, at.settled(f.begun)
		}
	}
	f.learn(path, s)
}

// Digest hashes the content of one regular file, or takes it from what is
// known. It is ErrNotFound if there is no such file.
func (f *Files) Digest(path string) (Key, error) {
	s, err := f.single(path)
	return s.digest, err
}

// single looks a file up: by the listing of its directory if that holds, else
// by its own stamp; it is read only if that moved. With ErrNotFound comes what
// is known of its absence.
func (f *Files) single(path string) (single, error) {
	f.mu.Lock()
	before, have := f.singles[path]
	f.mu.Unlock()
	if s, ok := f.listed(path, before, have); ok {
		if s.absent {
			return s, fmt.Errorf("%s: %w", path, ErrNotFound)
		}
		return s, nil
	}
	at, err := f.observe(path)
	if at, err = regularFile(path, at, err); err != nil {
		if errors.Is(err, ErrNotFound) && have && before.absent {
			f.learnAbsence(path, before)
			return before, err
		}
		return single{}, err
	}
	if have && !before.absent && before.settled && before.stamp == at {
		return before, nil
	}
	digest, err := f.read(path, at)
	if err != nil {
		return single{}, err
	}
	now := single{stamp: at, settled: at.settled(f.begun), digest: digest}
	if have && !before.absent && before.digest == digest {
		now.memo = before.memo
	}
	f.learn(path, now)
	return now, nil
}

// listed answers from the listing of the file's directory, whose stamps have
// all just been compared: nothing needs to be asked again.
func (f *Files) listed(path string, before single, have bool) (s single, ok bool) {
	dir, name := pathpkg.Split(path)
	k := f.known[strings.TrimSuffix(dir, "/")]
	if k == nil {
		return single{}, false
	}
	if <-f.checked; !k.holds {
		return single{}, false
	}
	if digest, found := k.digest(name); found {
		s = single{digest: digest}
		if have && !before.absent && before.digest == digest {
			s.memo = before.memo
		}
		return s, true
	}
	return before, have && before.absent && before.stamp == k.root()
}

// learnAbsence ties what is known of a missing file to its directory's stamp.
func (f *Files) learnAbsence(path string, s single) {
	dir, _ := pathpkg.Split(path)
	k := f.known[strings.TrimSuffix(dir, "/")]
	if k != nil && k.holds && k.root() != s.stamp {
		s.stamp = k.root()
		f.learn(path, s)
	}
}

func (f *Files) read(path string, at stamp) (Key, error) {
	fd, err := openAt(f.root, path, 0)
	if err != nil {
		return Key{}, &FileError{Path: path, Msg: "open: " + err.Error()}
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading
	d := newDigester()
	defer d.release()
	digest, err := d.digest(fd, at.size)
	if err != nil {
		return Key{}, &FileError{Path: path, Msg: "read: " + err.Error()}
	}
	return digest, nil
}

// regularFile refuses what look has found where it is no regular file.
func regularFile(path string, at stamp, err error) (stamp, error) {
	switch {
	case err != nil:
		return stamp{}, &FileError{Path: path, Msg: "stat: " + err.Error()}
	case at == stamp{}:
		return stamp{}, fmt.Errorf("%s: %w", path, ErrNotFound)
	case at.mode&unix.S_IFMT != unix.S_IFREG:
		return stamp{}, &FileError{Path: path, Msg: "it is not a regular file"}
	}
	return at, nil
}

func (f *Files) learn(path string, s single) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.singles[path] = s
	f.learnt = true
}

// Flags of a stored single.
const (
	singleSettled = 1 << iota
	singleAbsent
)

func packSingles(singles map[string]single) []byte {
	var p packer
	p.uint(uint64(len(singles)))
	for _, path := range sortedKeys(singles) {
		s := singles[path]
		p.string(path)
		p.stamp(s.stamp, stamp{})
		flags := uint64(0)
		if s.settled {
			flags |= singleSettled
		}
		if s.absent {
			flags |= singleAbsent
		}
		p.uint(flags)
		p.key(s.digest)
		p.bytes(s.memo)
	}
	return p.buf
}

func unpackSingles(payload []byte) map[string]single {
	u := unpacker{buf: payload}
	n := u.uint()
	singles := make(map[string]single, min(n, uint64(len(payload))/64))
	for ; n > 0 && !u.bad; n-- {
		path := u.string()
		s := single{stamp: u.stamp(stamp{})}
		flags := u.uint()
		s.settled, s.absent = flags&singleSettled != 0, flags&singleAbsent != 0
		s.digest = u.key()
		if memo := u.bytes(); len(memo) > 0 {
			s.memo = memo
		}
		if !u.bad {
			singles[path] = s
		}
	}
	return singles
}
