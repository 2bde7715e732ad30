package cache

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// single is what is known of one file by itself: its content's digest, and
// what somebody made of that content.
type single struct {
	stamp   stamp
	settled bool
	digest  Key
	memo    []byte
}

// Recall returns what Keep was given for the bytes that path holds now, or
// nil. Path is a slash path below the root.
func (f *Files) Recall(path string) []byte {
	if s, err := f.single(path); err == nil {
		return s.memo
	}
	return nil
}

// Keep remembers memo for as long as path holds content. The caller must not
// change memo afterwards.
func (f *Files) Keep(path string, content, memo []byte) {
	s := single{digest: Digest(content), memo: memo}
	// The stamp may be of a later content: it counts only if it is older than
	// this run, and so than the reading of content.
	if at, err := f.stampOf(path); err == nil {
		s.stamp, s.settled = at, at.settled(f.begun)
	}
	f.learn(path, s)
}

// Digest hashes the content of one regular file, or takes it from what is
// known. It is ErrNotFound if there is no such file.
func (f *Files) Digest(path string) (Key, error) {
	s, err := f.single(path)
	return s.digest, err
}

// single looks a file up by its stamp, reading it only if the stamp moved.
func (f *Files) single(path string) (single, error) {
	f.mu.Lock()
	known, have := f.singles[path]
	f.mu.Unlock()
	at, err := f.stampOf(path)
	if err != nil {
		return single{}, err
	}
	if have && known.settled && known.stamp == at {
		return known, nil
	}
	digest, err := f.read(path, at)
	if err != nil {
		return single{}, err
	}
	now := single{stamp: at, settled: at.settled(f.begun), digest: digest}
	if have && known.digest == digest {
		now.memo = known.memo
	}
	f.learn(path, now)
	return now, nil
}

func (f *Files) read(path string, at stamp) (Key, error) {
	fd, err := openAt(f.root, path, 0)
	if err != nil {
		return Key{}, &FileError{Path: path, Msg: "open: " + err.Error()}
	}
	defer unix.Close(fd) //nolint:errcheck // opened for reading
	digest, err := digestOf(fd, at.size)
	if err != nil {
		return Key{}, &FileError{Path: path, Msg: "read: " + err.Error()}
	}
	return digest, nil
}

func (f *Files) stampOf(path string) (stamp, error) {
	var st unix.Stat_t
	if err := statAt(f.root, append([]byte(path), 0), &st, 0); err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			return stamp{}, fmt.Errorf("%s: %w", path, ErrNotFound)
		}
		return stamp{}, &FileError{Path: path, Msg: "stat: " + err.Error()}
	}
	at := stampOf(&st)
	if at.mode&unix.S_IFMT != unix.S_IFREG {
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

func packSingles(singles map[string]single) []byte {
	var p packer
	p.uint(uint64(len(singles)))
	for _, path := range sortedKeys(singles) {
		s := singles[path]
		p.string(path)
		p.stamp(s.stamp)
		settled := uint64(0)
		if s.settled {
			settled = 1
		}
		p.uint(settled)
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
		s := single{stamp: u.stamp(), settled: u.uint() == 1, digest: u.key()}
		if memo := u.bytes(); len(memo) > 0 {
			s.memo = memo
		}
		if !u.bad {
			singles[path] = s
		}
	}
	return singles
}
