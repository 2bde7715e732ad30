package images

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/internal/durable"
	"toa.io/toa/orchestrator"
)

// Layout publishes images to a directory: an OCI image layout for each
// repository. Calls overlap, and so may processes.
type Layout struct {
	// Dir holds the layouts, each at its repository's path.
	Dir   string
	Blobs *cache.Blobs
}

var _ orchestrator.Registry = (*Layout)(nil)

// Traffic implements orchestrator.Registry: nothing is sent.
func (l *Layout) Traffic() orchestrator.Traffic { return orchestrator.Traffic{} }

func (l *Layout) dir(repository string) (layoutDir, error) {
	if !fs.ValidPath(repository) || repository == "." || strings.Contains(repository, `\`) {
		return "", fmt.Errorf("repository %q cannot be a directory", repository)
	}
	return layoutDir(filepath.Join(l.Dir, filepath.FromSlash(repository))), nil
}

// Has implements orchestrator.Registry. An image of which something is missing
// is not there.
func (l *Layout) Has(ctx context.Context, ref orchestrator.Reference) (string, error) {
	dir, err := l.dir(ref.Repository)
	if err != nil {
		return "", err
	}
	d, err := dir.tagged(ref.Tag)
	if err != nil {
		return "", err
	}
	if _, err := dir.complete(ctx, d); err != nil {
		return "", cache.ErrNotFound
	}
	return d.Digest.String(), nil
}

// Publish implements orchestrator.Registry. It is on the disk when it returns.
func (l *Layout) Publish(ctx context.Context, step orchestrator.Step, artifact orchestrator.Artifact) (string, error) {
	image, ok := artifact.(*Image)
	if !ok {
		return "", fmt.Errorf("publish %s: %T is no image of this package", step.ID, artifact)
	}
	dir, err := l.dir(step.Reference.Repository)
	if err != nil {
		return "", err
	}
	digest, err := l.publish(ctx, dir, step.Reference, image)
	if err != nil {
		return "", fmt.Errorf("publish %s: %w", step.Reference, err)
	}
	return digest, nil
}

func (l *Layout) publish(ctx context.Context, dir layoutDir, ref orchestrator.Reference, image *Image) (string, error) {
	if err := dir.prepare(); err != nil {
		return "", err
	}
	for _, one := range image.children {
		for _, c := range one.contents() {
			if err := l.store(ctx, dir, c); err != nil {
				return "", err
			}
		}
		if err := l.store(ctx, dir, content{one.Descriptor, memory(one.raw)}); err != nil {
			return "", err
		}
	}
	if err := l.store(ctx, dir, content{image.top.Descriptor, memory(image.top.raw)}); err != nil {
		return "", err
	}
	if err := durable.Sync(filepath.Join(string(dir), "blobs", "sha256")); err != nil {
		return "", err
	}
	return dir.tag(ctx, ref, image.top.Descriptor)
}

// store puts a blob in the layout: a link to the cache's copy where the file
// system can, or its own.
func (l *Layout) store(ctx context.Context, dir layoutDir, c content) error {
	path := dir.path(c.Digest)
	info, err := os.Lstat(path)
	now := time.Now()
	// It is dated, or Prune would take it for unused before the image is tagged.
	if err == nil && info.Mode().IsRegular() && info.Size() == c.Size && os.Chtimes(path, now, now) == nil {
		return nil
	}
	small, ok := c.origin.(memory)
	if ok {
		return writeFile(path, small)
	}
	if err := l.fetch(ctx, c); err != nil {
		return fmt.Errorf("store %s: %w", short(c.Digest), err)
	}
	kept, err := l.Blobs.Path(c.Digest.String())
	if err != nil {
		return err
	}
	if err := link(kept, path); err != nil {
		return fmt.Errorf("store %s: %w", short(c.Digest), err)
	}
	return nil
}

// fetch makes the cache hold a blob, verified.
func (l *Layout) fetch(ctx context.Context, c content) error {
	if l.intact(c) {
		return nil
	}
	body, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	w, err := l.Blobs.Create()
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.Copy(w, body); err != nil {
		return err
	}
	return w.Commit(c.Digest.String())
}

// intact reads through what the cache has. What is damaged is removed by that.
func (l *Layout) intact(c content) bool {
	body, err := l.Blobs.Open(c.Digest.String())
	if err != nil {
		return false
	}
	defer func() { _ = body.Close() }()
	_, err = io.Copy(io.Discard, body)
	return err == nil
}
