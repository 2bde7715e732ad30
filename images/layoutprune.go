package images

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
)

// Prune drops images that were published here long ago, or of which their
// repository has too many, and what no image is made of any more. The newest
// image of a repository stays, and so do those that named tells of: who asks for
// them is told that they are here. Keep.Bytes bounds nothing.
func (l *Layout) Prune(ctx context.Context, keep cache.Keep, named func(orchestrator.Reference) bool, now time.Time) (cache.Pruned, error) {
	var done cache.Pruned
	err := l.each(ctx, func(dir layoutDir, repository string) error {
		pruned, err := dir.prune(ctx, keep, func(d v1.Descriptor) bool {
			return named(orchestrator.Reference{Repository: repository, Tag: d.Annotations[tagAnnotation], Digest: d.Digest.String()})
		}, now)
		done.Dropped += pruned.Dropped
		done.Kept += pruned.Kept
		done.Freed += pruned.Freed
		return err
	})
	if err != nil {
		return done, fmt.Errorf("prune images: %w", err)
	}
	return done, nil
}

func (l layoutDir) prune(ctx context.Context, keep cache.Keep, named func(v1.Descriptor) bool, now time.Time) (cache.Pruned, error) {
	release, err := lock(ctx, filepath.Join(string(l), ".lock"))
	if err != nil {
		return cache.Pruned{}, err
	}
	defer release()
	index := l.index()
	all := len(index.Manifests)
	index.Manifests = l.chosen(index.Manifests, keep, named, now)
	done := cache.Pruned{Kept: len(index.Manifests), Dropped: all - len(index.Manifests)}
	if done.Dropped > 0 {
		if err := l.list(index); err != nil {
			return cache.Pruned{}, err
		}
	}
	if _, err := cache.PruneThings(string(l), temporary, cache.Keep{Age: cache.Recent}, now); err != nil {
		return done, err // of runs that were killed; among the blobs they are not wanted
	}
	done.Freed, err = l.sweep(ctx, index.Manifests, now)
	return done, err
}

// chosen are the images that stay, in the order in which they are listed.
func (l layoutDir) chosen(all []v1.Descriptor, keep cache.Keep, named func(v1.Descriptor) bool, now time.Time) []v1.Descriptor {
	newest := slices.Clone(all)
	slices.SortStableFunc(newest, func(a, b v1.Descriptor) int { return l.published(b).Compare(l.published(a)) })
	stays := map[string]bool{}
	for i, d := range newest {
		age := now.Sub(l.published(d))
		within := (keep.Age == 0 || age <= keep.Age) && (keep.Count == 0 || i < keep.Count)
		stays[d.Annotations[tagAnnotation]] = i == 0 || within || age.Abs() < cache.Recent || named(d)
	}
	return slices.DeleteFunc(slices.Clone(all), func(d v1.Descriptor) bool { return !stays[d.Annotations[tagAnnotation]] })
}

// published is when an image was published last; the zero time of one that is
// not there.
func (l layoutDir) published(d v1.Descriptor) time.Time {
	info, err := os.Lstat(l.path(d.Digest))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// sweep removes blobs that no image is made of. Where it cannot be told what
// images there are, or what one is made of, all stay.
func (l layoutDir) sweep(ctx context.Context, images []v1.Descriptor, now time.Time) (freed int64, err error) {
	if len(images) == 0 {
		return 0, nil
	}
	wanted := map[string]bool{}
	for _, d := range images {
		parts, err := l.complete(ctx, d)
		if err != nil {
			return 0, context.Cause(ctx)
		}
		for _, part := range parts {
			wanted[part.Digest.String()] = true
		}
	}
	blobs := filepath.Join(string(l), "blobs", "sha256")
	pruned, err := cache.PruneUnwanted(blobs, func(digest string) bool { return wanted[digest] }, now)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	return pruned.Freed, err
}
