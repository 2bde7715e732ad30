package images

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
)

// ReadArchive takes in what an engine has built: the tar of an OCI image layout
// that holds one image. Every blob is verified and kept in the cache, from
// where a registry of this package publishes it. Of the image it takes what the
// step's platforms ask for; attestations are left out, so that an image does
// not say where and when it was built. Whatever the order of entries, the
// archive is read once.
func ReadArchive(ctx context.Context, blobs *cache.Blobs, r io.Reader, step orchestrator.Step) (*Image, error) {
	index, err := keepArchive(ctx, blobs, tar.NewReader(r))
	if err != nil {
		return nil, fmt.Errorf("read image archive: %w", err)
	}
	image, err := archivedImage(ctx, blobs, index, step)
	if err != nil {
		return nil, fmt.Errorf("read image archive: %w", err)
	}
	return image, nil
}

// keepArchive keeps the blobs of an archive and returns its index.
func keepArchive(ctx context.Context, blobs *cache.Blobs, archive *tar.Reader) (index []byte, err error) {
	for {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF) && index == nil:
			return nil, errors.New("it has no index.json")
		case errors.Is(err, io.EOF):
			return index, nil
		case err != nil:
			return nil, err
		case header.Typeflag != tar.TypeReg:
			continue
		}
		name := path.Clean(header.Name)
		if name == indexFile {
			index, err = readSmall(archive)
		} else if digest, ok := blobDigest(name); ok {
			err = keepBlob(blobs, archive, digest)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
}

// blobDigest is the digest in the name of a layout's blob.
func blobDigest(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "blobs/")
	algorithm, hex, cut := strings.Cut(rest, "/")
	return algorithm + ":" + hex, ok && cut
}

func keepBlob(blobs *cache.Blobs, r io.Reader, digest string) error {
	w, err := blobs.Create()
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.Copy(w, r); err != nil {
		return err
	}
	return w.Commit(digest)
}

// archivedImage is the image that an archive's index names, for the platforms
// of the step.
func archivedImage(ctx context.Context, blobs *cache.Blobs, index []byte, step orchestrator.Step) (*Image, error) {
	var listed v1.IndexManifest
	if err := json.Unmarshal(index, &listed); err != nil {
		return nil, fmt.Errorf("%s: %w", indexFile, err)
	}
	if len(listed.Manifests) != 1 {
		return nil, fmt.Errorf("%s: it lists %d images, not one", indexFile, len(listed.Manifests))
	}
	raw, err := blobs.Bytes(listed.Manifests[0].Digest.String())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", short(listed.Manifests[0].Digest), err)
	}
	platforms, err := parsePlatforms(step.Recipe.Platforms)
	if err != nil {
		return nil, err
	}
	from := shelf{blobs: blobs, from: archived{blobs}, reference: step.Reference.String()}
	children := make([]child, len(platforms))
	for i, p := range platforms {
		if children[i], err = from.find(ctx, raw, p, 0); err != nil {
			return nil, err
		}
		if err := present(blobs, children[i]); err != nil {
			return nil, err
		}
	}
	return newImage(children, platforms)
}

// present makes sure that the archive held what its manifest names.
func present(blobs *cache.Blobs, one child) error {
	for _, c := range one.contents() {
		if !blobs.Has(c.Digest.String(), c.Size) {
			return fmt.Errorf("%s: %w", short(c.Digest), cache.ErrNotFound)
		}
	}
	return nil
}

// archived is the cache, for images that came in an archive. It is a library
// and not only an origin: most of their layers are of a base that the registry
// has, so it is asked before they are sent.
type archived struct{ blobs *cache.Blobs }

func (a archived) open(_ context.Context, d v1.Descriptor) (io.ReadCloser, error) {
	return a.blobs.Open(d.Digest.String())
}

func (a archived) manifest(_ context.Context, digest string) ([]byte, error) {
	return a.blobs.Bytes(digest)
}
