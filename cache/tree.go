package cache

import (
	"iter"
	"slices"
	"strings"
	"sync"
)

// Tree is the files of one directory that are hashed and copied, and the key
// of them all. It never changes.
type Tree struct {
	// Key is of all files: paths, kinds, executable bits, contents, link
	// targets. Times, owners, other mode bits and order are not part of it.
	Key Key

	list func() []File
}

// Files lists the files in path order (bytewise). The caller must not change it.
func (t *Tree) Files() []File { return t.list() }

// NewTree makes a tree of files that are known already.
func NewTree(files []File) *Tree {
	sorted := slices.Clone(files)
	slices.SortFunc(sorted, byPath)
	each := func(yield func(*File) bool) {
		for i := range sorted {
			if !yield(&sorted[i]) {
				return
			}
		}
	}
	return &Tree{Key: keyOf(each), list: func() []File { return sorted }}
}

// With is the tree with further files in it, whose paths it must not hold yet.
func (t *Tree) With(extra ...File) *Tree {
	if len(extra) == 0 {
		return t
	}
	h := NewHasher("toa/tree-with/v1")
	h.Key("tree", t.Key)
	h.Key("extra", NewTree(extra).Key)
	return &Tree{Key: h.Sum(), list: sync.OnceValue(func() []File {
		all := slices.Concat(t.Files(), extra)
		slices.SortFunc(all, byPath)
		return all
	})}
}

func byPath(a, b File) int { return strings.Compare(a.Path, b.Path) }

// keyOf hashes files that are in path order.
func keyOf(sorted iter.Seq[*File]) Key {
	h := NewHasher("toa/tree/v1")
	for f := range sorted {
		h.Field("path", f.Path)
		switch {
		case f.Kind == Symlink:
			h.Field("link", f.Link)
		case f.Exec:
			h.Key("executable", f.Digest)
		default:
			h.Key("file", f.Digest)
		}
	}
	return h.Sum()
}
