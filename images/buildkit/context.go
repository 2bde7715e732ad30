package buildkit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tonistiigi/fsutil"
	"github.com/tonistiigi/fsutil/types"
	"toa.io/toa/cache"
	"toa.io/toa/images"
)

// files is what an engine gets to read: exactly the files of trees, read where
// they are and compared with what was hashed. It implements fsutil.FS.
//
// Engines keep what they got under the same name before and ask only for files
// whose size or time is another: here the time is made of the content, so that
// no two contents are mixed up (moby/buildkit#4950).
type files struct {
	entries []entry // in the order of paths, a directory before what is in it
	epoch   int64   // seconds
	// fail is told of what cannot be read as it was hashed: senders take such a
	// file for an empty one, or wait for ever. Calls overlap.
	fail func(error)
}

var _ fsutil.FS = (*files)(nil)

// entry is a file, a link, or a directory where file is nil.
type entry struct {
	path string
	file *cache.File
	dir  string // that the file is in
}

// newFiles lists the parts of a build context.
func newFiles(parts []images.ContextPart, epoch int64, fail func(error)) (*files, error) {
	f := &files{epoch: epoch, fail: fail}
	seen := map[string]bool{}
	for _, part := range parts {
		list := part.Tree.Files()
		for i := range list {
			full := path.Join(part.Label, list[i].Path)
			if !fs.ValidPath(list[i].Path) {
				return nil, fmt.Errorf("path %q of %s cannot be in an image", list[i].Path, part.Owner)
			}
			f.parents(full, seen)
			f.entries = append(f.entries, entry{path: full, file: &list[i], dir: part.Dir})
		}
	}
	slices.SortFunc(f.entries, func(a, b entry) int { return compare(a.path, b.path) })
	return f, nil
}

// parents adds the directories above a path, once each.
func (f *files) parents(full string, seen map[string]bool) {
	for dir := path.Dir(full); dir != "." && !seen[dir]; dir = path.Dir(dir) {
		seen[dir] = true
		f.entries = append(f.entries, entry{path: dir})
	}
}

// compare is the order of a walk: what is in a directory comes before its
// neighbours, whatever their names.
func compare(a, b string) int {
	return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
}

// Walk implements fsutil.FS.
func (f *files) Walk(ctx context.Context, target string, visit fs.WalkDirFunc) error {
	target = path.Join("/", target)
	skip := ""
	for _, one := range f.entries {
		if !below("/"+one.path, target) || skip != "" && below("/"+one.path, skip) {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := visit(one.path, &fsutil.DirEntryInfo{Stat: f.stat(one)}, nil)
		switch {
		case errors.Is(err, fs.SkipAll):
			return nil
		case errors.Is(err, fs.SkipDir):
			skip = skipped(one)
		case err != nil:
			return err
		}
	}
	return nil
}

// skipped is what SkipDir of an entry leaves out: as fs.WalkDir has it, a
// directory, or what follows a file in its own.
func skipped(one entry) string {
	if one.file == nil {
		return "/" + one.path
	}
	return path.Dir("/" + one.path)
}

func below(full, dir string) bool {
	return full == dir || dir == "/" || strings.HasPrefix(full, dir+"/")
}

func (f *files) stat(one entry) *types.Stat {
	s := &types.Stat{Path: one.path, Mode: uint32(fs.ModeDir | 0o755), ModTime: f.epoch * 1e9}
	switch {
	case one.file == nil:
	case one.file.Kind == cache.Symlink:
		s.Mode, s.Linkname = uint32(fs.ModeSymlink|0o777), one.file.Link
	default:
		s.Mode, s.Size, s.ModTime = 0o644, one.file.Size, f.time(one.file.Digest)
		if one.file.Exec {
			s.Mode = 0o755
		}
	}
	return s
}

// time is made of a content: within eight years after the epoch, to the
// nanosecond. All file systems can say that, and no image shows it.
func (f *files) time(digest cache.Key) int64 {
	seconds := int64(binary.BigEndian.Uint32(digest[:4]) >> 4)
	nanoseconds := int64(binary.BigEndian.Uint32(digest[4:8]) % 1e9)
	return (f.epoch+seconds)*1e9 + nanoseconds
}

// Open implements fsutil.FS.
func (f *files) Open(name string) (io.ReadCloser, error) {
	name = strings.TrimPrefix(path.Join("/", name), "/")
	at, found := slices.BinarySearchFunc(f.entries, name, func(e entry, name string) int { return compare(e.path, name) })
	if !found || f.entries[at].file == nil {
		err := fmt.Errorf("open %q: %w", name, fs.ErrNotExist)
		f.fail(err)
		return nil, err
	}
	reader, writer := io.Pipe()
	go func() {
		err := f.entries[at].copyTo(writer)
		if err != nil && !errors.Is(err, io.ErrClosedPipe) { // that the reader has gone is no fault of the file
			f.fail(err)
		}
		_ = writer.CloseWithError(err)
	}()
	return reader, nil
}

func (e entry) copyTo(w io.Writer) error {
	if e.file.Content != nil {
		return e.file.CopyTo(w, nil)
	}
	dir, err := cache.OpenDir(e.dir)
	if err != nil {
		return fmt.Errorf("read files for the engine: %w", err)
	}
	defer dir.Close()
	return e.file.CopyTo(w, dir)
}
