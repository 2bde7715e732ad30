package sources

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ContextFile is never executable, so it tells whether modes are told at all.
const ContextFile = "context.toa.yaml"

// Locate tells where a file is that the list calls from.
type Locate func(from string) (string, error)

// Stage makes dir hold what the list names and nothing else. What is equal
// already is left alone, so that its stamps hold. An *Error names an entry that
// is not what the list says.
func (l List) Stage(dir string, locate Locate) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("stage sources: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("stage sources: %w", err)
	}
	defer root.Close() //nolint:errcheck // a directory was opened
	entries, err := l.located(locate)
	if err != nil {
		return err
	}
	s := &stage{root: root, kept: map[string]bool{}}
	s.modeless = slices.ContainsFunc(entries, func(e Entry) bool { return e.Path == ContextFile && mayExecute(e.From) })
	for _, e := range entries {
		if err := s.place(e); err != nil {
			return err
		}
	}
	return s.sweep()
}

// located are the entries with the places where they are.
func (l List) located(locate Locate) ([]Entry, error) {
	entries := slices.Clone(l.Entries)
	for i := range entries {
		e := &entries[i]
		if e.Kind == Link {
			continue
		}
		from, err := locate(e.From)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", e.Path, err)
		}
		e.From = from
	}
	return entries, nil
}

// stage is a directory that is being made.
type stage struct {
	root *os.Root
	kept map[string]bool // paths of what belongs there, directories too
	// modeless says that every file may be executed here, as remote executors
	// and some file systems have it, so that modes say nothing.
	modeless bool
}

func mayExecute(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode()&0o100 != 0
}

func (s *stage) place(e Entry) error {
	switch e.Kind {
	case Link:
		return s.link(e.Path, filepath.FromSlash(e.From))
	case Layout, Finished:
		from, err := filepath.Abs(e.From)
		if err != nil {
			return err
		}
		return s.link(e.Path, from)
	case Source, Program, Generated, Built:
		return s.source(e)
	default:
		return &Error{Path: e.Path, Msg: fmt.Sprintf("is a %q, which nobody knows", e.Kind)}
	}
}

// source places a file, or a directory of files.
func (s *stage) source(e Entry) error {
	info, err := os.Stat(e.From)
	if err != nil {
		return fmt.Errorf("stage %s: %w", e.Path, err)
	}
	if info.IsDir() {
		return s.directory(e)
	}
	if err := s.check(e, info); err != nil {
		return err
	}
	return s.file(e.Path, e.From, e.executable())
}

// check finds out where the list says other than the file that somebody wrote:
// who builds without the list would then build something else.
func (s *stage) check(e Entry, info fs.FileInfo) error {
	if !e.written() {
		return nil
	}
	resolved, err := filepath.EvalSymlinks(e.From)
	if err != nil {
		return fmt.Errorf("stage %s: %w", e.Path, err)
	}
	if !strings.HasSuffix("/"+filepath.ToSlash(resolved), "/"+e.tail) {
		return &Error{Path: e.Path, Msg: "is a symbolic link, or below one", Fix: "leave it out of srcs and state it in symlinks, path and target: an image keeps it as a link"}
	}
	executable := info.Mode()&0o100 != 0
	switch {
	case s.modeless || executable == e.executable():
		return nil
	case executable:
		return &Error{Path: e.Path, Msg: "may be executed and is not declared so", Fix: "state it in executables: Bazel tells nobody the modes of files, and images have them"}
	default:
		return &Error{Path: e.Path, Msg: "is declared as executable and is not", Fix: "run `chmod +x` on it, or state it in srcs"}
	}
}

// directory places all that is below a directory that an action made.
func (s *stage) directory(e Entry) error {
	if e.written() {
		return &Error{Path: e.Path, Msg: "is a directory", Fix: "state its files, with glob"}
	}
	root, err := filepath.EvalSymlinks(e.From)
	if err != nil {
		return fmt.Errorf("stage %s: %w", e.Path, err)
	}
	return filepath.WalkDir(root, func(from string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, from)
		if err != nil {
			return err
		}
		return s.file(path.Join(e.Path, filepath.ToSlash(rel)), from, e.executable())
	})
}

// keep notes that a path belongs into the directory, and makes those above it.
func (s *stage) keep(rel string) error {
	if err := s.above(rel); err != nil {
		return fmt.Errorf("stage %s: %w", rel, err)
	}
	s.kept[rel] = true
	return nil
}

// above makes the directories above a path, in place of what else is there: a
// link would lead elsewhere.
func (s *stage) above(rel string) error {
	dir := path.Dir(rel)
	if dir == "." || s.kept[dir] {
		return nil
	}
	if err := s.above(dir); err != nil {
		return err
	}
	s.kept[dir] = true
	if info, err := s.root.Lstat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := s.root.RemoveAll(dir); err != nil {
		return err
	}
	return s.root.Mkdir(dir, 0o700)
}

func (s *stage) link(rel, target string) error {
	if err := s.keep(rel); err != nil {
		return err
	}
	if there, err := s.root.Readlink(rel); err == nil && there == target {
		return nil
	}
	if err := s.root.RemoveAll(rel); err != nil {
		return err
	}
	return s.root.Symlink(target, rel)
}

func (s *stage) file(rel, from string, executable bool) error {
	if err := s.keep(rel); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if executable {
		mode = 0o700
	}
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("stage %s: %w", rel, err)
	}
	defer source.Close() //nolint:errcheck // opened for reading
	if equal, err := s.has(rel, source, mode); equal || err != nil {
		return err
	}
	if _, err := source.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := s.fill(rel, source, mode); err != nil {
		return fmt.Errorf("stage %s: %w", rel, err)
	}
	return nil
}

func (s *stage) fill(rel string, source io.Reader, mode fs.FileMode) error {
	if err := s.root.RemoveAll(rel); err != nil {
		return err
	}
	file, err := s.root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, source)
	return errors.Join(err, file.Close())
}

// has tells whether a file is there with the mode and the bytes. What cannot be
// read is made anew.
func (s *stage) has(rel string, source *os.File, mode fs.FileMode) (bool, error) {
	info, err := s.root.Lstat(rel)
	if err != nil || info.Mode() != mode {
		return false, nil
	}
	want, err := source.Stat()
	if err != nil || want.Size() != info.Size() {
		return false, err
	}
	file, err := s.root.Open(rel)
	if err != nil {
		return false, nil
	}
	defer file.Close() //nolint:errcheck // opened for reading
	return equalBytes(file, source)
}

func equalBytes(a, b io.Reader) (bool, error) {
	var x, y [32 << 10]byte
	for {
		n, errA := io.ReadFull(a, x[:])
		m, errB := io.ReadFull(b, y[:])
		if !bytes.Equal(x[:n], y[:m]) {
			return false, nil
		}
		if ended(errA) || ended(errB) {
			return ended(errA) && ended(errB), nil
		}
		if err := errors.Join(errA, errB); err != nil {
			return false, err
		}
	}
}

func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// sweep removes what does not belong into the directory.
func (s *stage) sweep() error {
	return fs.WalkDir(s.root.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		if err != nil || rel == "." || s.kept[rel] {
			return err
		}
		if err := s.root.RemoveAll(rel); err != nil {
			return fmt.Errorf("stage sources: %w", err)
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}
