package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"toa.io/toa/cache"
	"toa.io/toa/internal/durable"
	"toa.io/toa/orchestrator"
)

const (
	tagAnnotation   = "org.opencontainers.image.ref.name"
	imageAnnotation = "io.containerd.image.name"
	layoutFile      = "oci-layout"
	indexFile       = "index.json"
	layoutVersion   = `{"imageLayoutVersion":"1.0.0"}`
)

// layoutDir is a directory that is an OCI image layout.
type layoutDir string

// manifest implements library; target may be a tag too. An empty one is the
// layout's own index.
func (l layoutDir) manifest(_ context.Context, target string) ([]byte, error) {
	if target == "" {
		return l.read(filepath.Join(string(l), indexFile))
	}
	if !strings.Contains(target, ":") {
		d, err := l.tagged(target)
		if err != nil {
			return nil, err
		}
		target = d.Digest.String()
	}
	hash, err := v1.NewHash(target)
	if err != nil {
		return nil, err
	}
	return l.read(l.path(hash))
}

func (l layoutDir) read(path string) ([]byte, error) {
	file, err := l.file(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return readSmall(file)
}

// open implements origin.
func (l layoutDir) open(_ context.Context, d v1.Descriptor) (io.ReadCloser, error) {
	file, err := l.file(l.path(d.Digest))
	if err != nil {
		return nil, fmt.Errorf("read %s from layout %s: %w", short(d.Digest), string(l), err)
	}
	return verified{Reader: cache.Verify(file, d.Digest.String(), d.Size), Closer: file}, nil
}

func (l layoutDir) path(digest v1.Hash) string {
	return filepath.Join(string(l), "blobs", digest.Algorithm, digest.Hex)
}

func (l layoutDir) file(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, cache.ErrNotFound
	}
	return file, err
}

// prepare makes the directory a layout.
func (l layoutDir) prepare() error {
	if err := os.MkdirAll(filepath.Join(string(l), "blobs", "sha256"), 0o700); err != nil {
		return err
	}
	path := filepath.Join(string(l), layoutFile)
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	return writeFile(path, []byte(layoutVersion))
}

// index reads index.json. One that is missing or damaged lists nothing.
func (l layoutDir) index() v1.IndexManifest {
	empty := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{}}
	raw, err := os.ReadFile(filepath.Join(string(l), indexFile))
	if err != nil {
		return empty
	}
	index := empty
	if json.Unmarshal(raw, &index) != nil {
		return empty
	}
	return index
}

// tagged is the descriptor of a tag, or cache.ErrNotFound.
func (l layoutDir) tagged(tag string) (v1.Descriptor, error) {
	return l.first(func(d v1.Descriptor) bool { return d.Annotations[tagAnnotation] == tag })
}

// first is the first image of the list that is what is looked for, or
// cache.ErrNotFound.
func (l layoutDir) first(is func(v1.Descriptor) bool) (v1.Descriptor, error) {
	list := l.index().Manifests
	if at := slices.IndexFunc(list, is); at >= 0 {
		return list[at], nil
	}
	return v1.Descriptor{}, cache.ErrNotFound
}

// tag writes the tag, unless it is taken by an image that is all there.
func (l layoutDir) tag(ctx context.Context, ref orchestrator.Reference, d v1.Descriptor) (string, error) {
	release, err := lock(ctx, filepath.Join(string(l), ".lock"))
	if err != nil {
		return "", err
	}
	defer release()
	if taken, err := l.tagged(ref.Tag); err == nil {
		if _, err := l.complete(ctx, taken); err == nil {
			return taken.Digest.String(), nil
		}
	}
	index := l.index()
	index.Manifests = slices.DeleteFunc(index.Manifests, func(other v1.Descriptor) bool {
		return other.Annotations[tagAnnotation] == ref.Tag
	})
	index.Manifests = append(index.Manifests, annotated(d, ref))
	slices.SortFunc(index.Manifests, func(a, b v1.Descriptor) int {
		return strings.Compare(a.Annotations[tagAnnotation], b.Annotations[tagAnnotation])
	})
	return d.Digest.String(), l.list(index)
}

// list makes the layout list what an index does, for good.
func (l layoutDir) list(index v1.IndexManifest) error {
	raw, err := json.Marshal(index)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(string(l), indexFile), raw); err != nil {
		return err
	}
	return durable.Sync(string(l))
}

func annotated(d v1.Descriptor, ref orchestrator.Reference) v1.Descriptor {
	d.Annotations = map[string]string{
		tagAnnotation:   ref.Tag,
		imageAnnotation: ref.Repository + ":" + ref.Tag,
	}
	return d
}

// complete lists the blobs of an image, itself first, or says what is missing.
// Manifests are read and verified; of other blobs the size is.
func (l layoutDir) complete(ctx context.Context, d v1.Descriptor) ([]v1.Descriptor, error) {
	return l.walk(ctx, d, 0)
}

func (l layoutDir) walk(ctx context.Context, d v1.Descriptor, depth int) ([]v1.Descriptor, error) {
	raw, err := l.small(ctx, d)
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(raw)
	if err != nil || depth == maxNesting {
		return nil, errors.Join(err, cache.ErrNotFound)
	}
	all := []v1.Descriptor{d}
	for _, one := range m.Manifests {
		below, err := l.walk(ctx, one, depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	if m.Manifests != nil {
		return all, nil
	}
	for _, one := range append(m.Layers, m.Config) {
		info, err := os.Lstat(l.path(one.Digest))
		if err != nil || info.Size() != one.Size {
			return nil, cache.ErrNotFound
		}
		all = append(all, one)
	}
	return all, nil
}
