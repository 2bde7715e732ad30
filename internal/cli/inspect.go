package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/workspace"
)

// inspections bounds how many images are read of registries at a time.
const inspections = 4

// inspect reads what registries hold of the images that the index knows. Those
// that are not whole are forgotten, with a note of what the registry does not
// give: the next build publishes that again. A registry that cannot be asked is
// an error, and asked no further.
func (g *globals) inspect(ctx context.Context, blobs *cache.Blobs, index *cache.Index) error {
	known, err := index.Images()
	if err != nil {
		return err
	}
	known = slices.DeleteFunc(known, func(one cache.Image) bool { return one.Registry == onDisk })
	client := &images.Client{Notice: g.warn}
	if len(known) > 0 {
		client.Insecure = g.insecure()
	}
	look := &inspection{
		globals: g, index: index, all: len(known), failed: map[string]error{},
		inspector: &images.Inspector{Client: client},
	}
	look.announce(blobs, known)
	stop := look.progress()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inspections)
	for _, one := range known {
		group.Go(func() error { return look.at(ctx, one) })
	}
	err = group.Wait()
	stop()
	return look.end(err)
}

// insecure are the registries without TLS of the workspace here, if there is one.
// Nothing else of it is read, and what is wrong with that stops nothing: the cache
// is not of one workspace.
func (g *globals) insecure() []string {
	root, err := workspace.Find(g.start())
	if err != nil {
		return nil
	}
	context, err := workspace.ReadContext(os.DirFS(root), environment(g, nil))
	if err != nil {
		writeError(g.io.Err, err)
		g.warn("going on without what the context says of registries")
		return nil
	}
	return context.Registry.Insecure
}

// inspection is what was found so far.
type inspection struct {
	*globals
	index     *cache.Index
	inspector *images.Inspector
	all       int

	mu          sync.Mutex // guards all below
	whole, lost int
	failed      map[string]error // by registry
}

// announce says what is going to be read: somebody may pay for it.
func (n *inspection) announce(blobs *cache.Blobs, known []cache.Image) {
	digests := map[string][]string{} // by registry
	for _, one := range known {
		digests[one.Registry] = append(digests[one.Registry], one.Digest)
	}
	for _, registry := range slices.Sorted(maps.Keys(digests)) {
		n.warn(fmt.Sprintf("reading %s of %s, %s", count(len(digests[registry]), "image"), registry, weight(blobs, digests[registry])))
	}
}

// weight says how much there is to read, as far as it is known here.
func weight(blobs *cache.Blobs, digests []string) string {
	sum, unknown := images.Weight(blobs, digests...)
	switch unknown {
	case 0:
		return mebibytes(sum)
	case len(digests):
		return "and how much that is is not known here"
	default:
		return fmt.Sprintf("at least %s: how much %d of them are is not known here", mebibytes(sum), unknown)
	}
}

// progressEvery is how long who waits hears nothing.
const progressEvery = 5 * time.Second

// progress says how far the inspection has come, until it is stopped.
func (n *inspection) progress() (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				n.mu.Lock()
				n.warn(fmt.Sprintf("%s read so far, %d of %s done", mebibytes(n.inspector.Bytes()), n.whole+n.lost, count(n.all, "image")))
				n.mu.Unlock()
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

// at looks at one image. An error ends the inspection.
func (n *inspection) at(ctx context.Context, one cache.Image) error {
	if n.hasFailed(one.Registry) {
		return nil
	}
	lost, err := n.inspector.Inspect(ctx, one.Repository, one.Digest)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case err != nil:
		n.failed[one.Registry] = err
	case len(lost) == 0:
		n.whole++
	default:
		n.lost++
		n.warn(fmt.Sprintf("%s has lost %s of %s@%s: its garbage collection took it, or its storage is damaged",
			one.Registry, strings.Join(lost, ", "), one.Repository, one.Digest))
		return n.forget(one, lost)
	}
	return nil
}

func (n *inspection) hasFailed(registry string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.failed[registry] != nil
}

// forget makes the next build publish what is lost.
func (n *inspection) forget(one cache.Image, lost []string) error {
	if err := n.index.Lose(one.Registry, one.Repository, lost...); err != nil {
		return fmt.Errorf("note what %s has lost: %w", one.Registry, err)
	}
	n.index.Forget(one.Registry, one.Repository, one.Key)
	return nil
}

// end reports what was found, also where the inspection was stopped.
func (n *inspection) end(err error) error {
	fmt.Fprintf(n.io.Out, "  %-7s %s whole, %d not; %s read\n", "remote", count(n.whole, "image"), n.lost, mebibytes(n.inspector.Bytes()))
	if err != nil {
		return err
	}
	if n.lost > 0 {
		err = &lostError{n.lost}
	}
	for _, registry := range slices.Sorted(maps.Keys(n.failed)) {
		err = errors.Join(err, n.failed[registry])
	}
	return err
}

// lostError says that registries do not hold all of some images.
type lostError struct{ n int }

func (e *lostError) Error() string {
	return count(e.n, "image") + " not whole in the registry, expected none: forgotten"
}

// Hint says what mends it.
func (e *lostError) Hint() string { return "the next build publishes again what it needs of them" }
