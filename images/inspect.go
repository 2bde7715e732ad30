package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"
	"toa.io/toa/cache"
)

// Inspector reads all that registries have of images. What several images share
// is read once of a registry. Make one for each look; calls overlap.
type Inspector struct {
	Client *Client

	bytes atomic.Int64

	turn turns[blobOn]
	mu   sync.Mutex // guards read
	read map[blobOn]bool
}

// Bytes is how many bytes of blobs have come so far.
func (i *Inspector) Bytes() int64 { return i.bytes.Load() }

// Weight is how many bytes the blobs of images have together, each counted once:
// what an Inspector has to read of a registry that has them. Unknown is of how
// many images the cache lacks a manifest: what that names does not count.
func Weight(blobs *cache.Blobs, digests ...string) (sum int64, unknown int) {
	sizes := map[v1.Hash]int64{}
	for _, digest := range digests {
		all, whole := blobsOf(blobs, digest, 2)
		if !whole {
			unknown++
		}
		for _, blob := range all {
			sizes[blob.Digest] = blob.Size
		}
	}
	for _, size := range sizes {
		sum += size
	}
	return sum, unknown
}

// Inspect returns the digests of manifests and blobs that the registry does not
// give, or gives other bytes for, sorted: none where the image is whole. Nothing
// is believed of an answer without content: a registry may say that it has a blob
// which its garbage collection has taken (distribution/distribution#3743). An
// error is no such answer.
func (i *Inspector) Inspect(ctx context.Context, repository, digest string) ([]string, error) {
	repo, err := i.Client.repository(repository)
	if err != nil {
		return nil, err
	}
	hash, err := v1.NewHash(digest)
	if err != nil {
		return nil, fmt.Errorf("inspect %s: %w", repository, err)
	}
	var found losses
	if err := i.tree(ctx, repo, hash, &found, 0); err != nil {
		return nil, fmt.Errorf("inspect %s@%s: %w", repository, digest, err)
	}
	slices.Sort(found.digests)
	return slices.Compact(found.digests), nil
}

// losses is what was found missing by those who look side by side.
type losses struct {
	mu      sync.Mutex // guards digests
	digests []string
}

// judge takes in how reading ended. What is no word on the content is left of
// the error.
func (l *losses) judge(digest v1.Hash, err error) error {
	if !errors.Is(err, cache.ErrNotFound) && !errors.Is(err, cache.ErrDamaged) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.digests = append(l.digests, digest.String())
	return nil
}

// tree reads a manifest or an index, and what it names.
func (i *Inspector) tree(ctx context.Context, repo *repository, digest v1.Hash, found *losses, depth int) error {
	raw, err := documentOf(ctx, repo, digest.String()) // what the cache has says nothing
	if err != nil {
		return found.judge(digest, err)
	}
	m, err := parseManifest(raw)
	switch {
	case err != nil:
		return err
	case m.Manifests != nil && depth == maxNesting:
		return errors.New("indexes are nested too deeply")
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelUploads)
	for _, one := range m.Manifests {
		group.Go(func() error { return i.tree(ctx, repo, one.Digest, found, depth+1) })
	}
	for _, blob := range m.blobs() {
		group.Go(func() error { return found.judge(blob.Digest, i.blob(ctx, repo, blob)) })
	}
	return group.Wait()
}

// blob reads a blob, or only asks for one that was read of another repository
// of the registry: they have it from the same place.
func (i *Inspector) blob(ctx context.Context, repo *repository, d v1.Descriptor) error {
	at := blobOn{repo.registry.RegistryStr(), d.Digest}
	release, err := i.turn.take(ctx, at)
	if err != nil {
		return err
	}
	defer release()
	if i.known(at) {
		return repo.begins(ctx, d)
	}
	if err := repo.gives(ctx, d, arrivals{&i.bytes}); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.read == nil {
		i.read = map[blobOn]bool{}
	}
	i.read[at] = true
	return nil
}

func (i *Inspector) known(at blobOn) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.read[at]
}

// arrivals counts the bytes that are written to it.
type arrivals struct{ sum *atomic.Int64 }

func (a arrivals) Write(p []byte) (int, error) {
	a.sum.Add(int64(len(p)))
	return len(p), nil
}

// gives reads a blob into to, all of it, and again where the connection breaks. Where it
// breaks each time the registry's storage does: that is cache.ErrDamaged too.
func (r *repository) gives(ctx context.Context, d v1.Descriptor, to io.Writer) error {
	var final error
	broken := r.persist(ctx, func() error {
		body, err := r.get(ctx, call{method: http.MethodGet, path: "blobs/" + d.Digest.String()})
		if final = err; err != nil {
			return nil // it was tried again already
		}
		defer func() { _ = body.Close() }()
		_, err = io.Copy(to, cache.Verify(body, d.Digest.String(), d.Size))
		if errors.Is(err, cache.ErrDamaged) {
			final, err = err, nil
		}
		return err
	})
	if errors.Is(broken, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %s ends early", cache.ErrDamaged, d.Digest)
	}
	return errors.Join(final, broken)
}

// begins asks for a blob and does not read it.
func (r *repository) begins(ctx context.Context, d v1.Descriptor) error {
	body, err := r.get(ctx, call{method: http.MethodGet, path: "blobs/" + d.Digest.String()})
	if err != nil {
		return err
	}
	return body.Close()
}
