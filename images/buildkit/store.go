package buildkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"toa.io/toa/cache"
	"toa.io/toa/images"
)

// store is what an engine sees of our cache: it reads the ground that its image
// stands on, and writes what it has made. It is told that we have what we can
// find elsewhere, so that it does not send that.
type store struct {
	blobs  *cache.Blobs
	ground *images.Ground
}

var _ content.Store = store{}

// Info implements content.Store.
func (s store) Info(ctx context.Context, d digest.Digest) (content.Info, error) {
	reader, err := s.ReaderAt(ctx, ocispec.Descriptor{Digest: d})
	if err != nil {
		return content.Info{}, err
	}
	defer func() { _ = reader.Close() }()
	return content.Info{Digest: d, Size: reader.Size()}, nil
}

// ReaderAt implements content.Store.
func (s store) ReaderAt(ctx context.Context, d ocispec.Descriptor) (content.ReaderAt, error) {
	file, err := s.ground.Open(ctx, d.Digest.String())
	switch {
	case errors.Is(err, cache.ErrNotFound):
		return nil, fmt.Errorf("%s: %w", d.Digest, errdefs.ErrNotFound)
	case err != nil:
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return blob{File: file, size: info.Size()}, nil
}

type blob struct {
	*os.File
	size int64
}

func (b blob) Size() int64 { return b.size }

// Writer implements content.Store.
func (s store) Writer(_ context.Context, opts ...content.WriterOpt) (content.Writer, error) {
	var options content.WriterOpts
	for _, set := range opts {
		if err := set(&options); err != nil {
			return nil, err
		}
	}
	want := options.Desc.Digest.String()
	if want != "" && (s.ground.Has(want) || images.Intact(s.blobs, want)) {
		return nil, fmt.Errorf("%s: %w", want, errdefs.ErrAlreadyExists)
	}
	out, err := s.blobs.Create()
	if err != nil {
		return nil, err
	}
	return &writer{out: out, status: content.Status{Ref: options.Ref, Total: options.Desc.Size, Expected: options.Desc.Digest, StartedAt: time.Now()}}, nil
}

// writer takes one blob into the cache. Nothing of one that broke is kept.
type writer struct {
	out    *cache.BlobWriter
	status content.Status
}

func (w *writer) Write(p []byte) (int, error) { return w.out.Write(p) }
func (w *writer) Digest() digest.Digest       { return digest.Digest(w.out.Digest()) }

func (w *writer) Close() error {
	w.out.Abort()
	return nil
}

// Commit implements content.Writer.
func (w *writer) Commit(_ context.Context, size int64, expected digest.Digest, _ ...content.Opt) error {
	defer w.out.Abort()
	if size > 0 && size != w.out.Size() {
		return fmt.Errorf("%s: %w: %d bytes of %d came", expected, errdefs.ErrFailedPrecondition, w.out.Size(), size)
	}
	if expected == "" {
		expected = w.Digest()
	}
	return w.out.Commit(expected.String())
}

// Status implements content.Writer.
func (w *writer) Status() (content.Status, error) {
	now := w.status
	now.Offset, now.UpdatedAt = w.out.Size(), time.Now()
	return now, nil
}

// Truncate implements content.Writer: a blob begins at its beginning.
func (w *writer) Truncate(size int64) error {
	if size != w.out.Size() {
		return fmt.Errorf("truncate: %w", errdefs.ErrNotImplemented)
	}
	return nil
}

// Engines do not manage what we have.

// Update implements content.Store.
func (store) Update(context.Context, content.Info, ...string) (content.Info, error) {
	return content.Info{}, errdefs.ErrNotImplemented
}

// Walk implements content.Store.
func (store) Walk(context.Context, content.WalkFunc, ...string) error {
	return errdefs.ErrNotImplemented
}

// Delete implements content.Store.
func (store) Delete(context.Context, digest.Digest) error { return errdefs.ErrNotImplemented }

// Status implements content.Store: no blob is half there.
func (store) Status(_ context.Context, ref string) (content.Status, error) {
	return content.Status{}, fmt.Errorf("%s: %w", ref, errdefs.ErrNotFound)
}

// ListStatuses implements content.Store.
func (store) ListStatuses(context.Context, ...string) ([]content.Status, error) { return nil, nil }

// Abort implements content.Store.
func (store) Abort(context.Context, string) error { return nil }
