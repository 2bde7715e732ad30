package images

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"toa.io/toa/cache"
)

// compression is part of each layer's key, as is the writer's version: another
// one may give other bytes.
const (
	compressionLevel = 3
	compression      = "gzip/klauspost-1.20/3"
)

// part is one directory in a layer.
type part struct {
	// prefix is where it goes: a slash path without leading slash.
	prefix string
	// dir is where its files are; owner is whose they are, for messages.
	dir, owner string
	tree       *cache.Tree
}

// packer writes a layer: tar and gzip in one pass, hashing both.
type packer struct {
	out    *cache.BlobWriter
	file   *bufio.Writer // before out: the compressor writes in crumbs
	zip    *gzip.Writer
	diffID hash.Hash
	behind *relay // before zip and diffID
	buffer []byte // of behind
	plain  *bufio.Writer
	tar    *tar.Writer
	epoch  time.Time
	dirs   map[string]bool // those that are in the archive
}

// packers are used again: a compressor and buffers are larger than most layers.
var packers = sync.Pool{New: func() any {
	const size = 64 << 10
	zip, _ := gzip.NewWriterLevel(io.Discard, compressionLevel) // the level is a valid one
	return &packer{
		file: bufio.NewWriterSize(nil, size), zip: zip, diffID: sha256.New(),
		buffer: make([]byte, size), plain: bufio.NewWriterSize(nil, size),
	}
}}

func newPacker(out *cache.BlobWriter, epoch time.Time) *packer {
	p := packers.Get().(*packer)
	p.out, p.epoch, p.dirs = out, epoch, map[string]bool{}
	p.file.Reset(out)
	p.zip.Reset(p.file)
	p.diffID.Reset()
	p.behind = newRelay(io.MultiWriter(p.diffID, p.zip), p.buffer)
	p.plain.Reset(p.behind)
	p.tar = tar.NewWriter(p.plain)
	return p
}

// add writes the files of one part, in the order of its tree.
func (p *packer) add(ctx context.Context, one part) error {
	if !fs.ValidPath(one.prefix) {
		return fmt.Errorf("path %q cannot be in an image", one.prefix)
	}
	dir, err := cache.OpenDir(one.dir)
	if err != nil {
		return fmt.Errorf("read files of %s: %w", one.owner, err)
	}
	defer dir.Close()
	if err := p.directory(one.prefix); err != nil {
		return err
	}
	for _, file := range one.tree.Files() {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := p.entry(one.prefix, file, dir); err != nil {
			return fmt.Errorf("pack files of %s: %w", one.owner, err)
		}
	}
	return nil
}

func (p *packer) entry(prefix string, file cache.File, dir *cache.Dir) error {
	if !fs.ValidPath(file.Path) {
		return fmt.Errorf("path %q cannot be in an image", file.Path)
	}
	full := path.Join(prefix, file.Path)
	if err := p.directory(path.Dir(full)); err != nil {
		return err
	}
	header := &tar.Header{Name: full, Mode: 0o644, ModTime: p.epoch, Typeflag: tar.TypeReg, Size: file.Size}
	switch {
	case file.Kind == cache.Symlink:
		header.Typeflag, header.Linkname, header.Size, header.Mode = tar.TypeSymlink, file.Link, 0, 0o777
	case file.Exec:
		header.Mode = 0o755
	}
	if err := p.tar.WriteHeader(header); err != nil || file.Kind == cache.Symlink {
		return err
	}
	return file.CopyTo(p.tar, dir)
}

// directory writes the entries of a directory and those above it, once each.
func (p *packer) directory(dir string) error {
	if dir == "." || p.dirs[dir] {
		return nil
	}
	if err := p.directory(path.Dir(dir)); err != nil {
		return err
	}
	p.dirs[dir] = true
	return p.tar.WriteHeader(&tar.Header{Name: dir + "/", Mode: 0o755, ModTime: p.epoch, Typeflag: tar.TypeDir})
}

// finish ends the archive and keeps it.
func (p *packer) finish() (cache.Layer, error) {
	for _, end := range []func() error{p.tar.Close, p.plain.Flush, p.behind.Close, p.zip.Close, p.file.Flush} {
		if err := end(); err != nil {
			return cache.Layer{}, err
		}
	}
	layer := cache.Layer{
		Digest: p.out.Digest(),
		DiffID: "sha256:" + hex.EncodeToString(p.diffID.Sum(nil)),
		Size:   p.out.Size(),
	}
	return layer, p.out.Commit(layer.Digest)
}

// release gives the packer back. What was not finished is dropped.
func (p *packer) release() {
	_ = p.behind.Close() // finish has told
	p.out.Abort()
	p.out, p.behind, p.tar, p.dirs = nil, nil, nil, nil
	packers.Put(p)
}

// pack makes a layer of parts.
func pack(ctx context.Context, blobs *cache.Blobs, parts []part, epoch time.Time) (cache.Layer, error) {
	out, err := blobs.Create()
	if err != nil {
		return cache.Layer{}, err
	}
	p := newPacker(out, epoch)
	defer p.release()
	for _, one := range parts {
		if err := p.add(ctx, one); err != nil {
			return cache.Layer{}, err
		}
	}
	return p.finish()
}
