package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
	"toa.io/toa/workspace"
)

// LayoutScheme begins the references of images in layouts on disk.
const LayoutScheme = "oci-layout://"

// Resolver finds base images: in registries, and in image layouts on disk.
type Resolver struct {
	Client *Client
	// Blobs keeps what was read, for building from it.
	Blobs *cache.Blobs
	// Root is the directory that relative "oci-layout://DIR" references start from.
	Root string
}

var _ orchestrator.Resolver = (*Resolver)(nil)

// Resolve implements orchestrator.Resolver: the digest is that of the manifest
// for the platform, never of an index; for workspace.AllPlatforms it is of what
// the reference names. Scratch has none.
func (r *Resolver) Resolve(ctx context.Context, reference, platform string) (string, error) {
	if reference == templates.Scratch {
		return "", nil
	}
	from, target, err := locate(r.Client, r.Root, reference)
	if err != nil {
		return "", err
	}
	raw, err := documentOf(ctx, from, target)
	if errors.Is(err, cache.ErrNotFound) {
		return "", &NoBaseError{Reference: reference}
	}
	if err != nil {
		return "", fmt.Errorf("look up base image %s: %w", reference, err)
	}
	_, _ = r.Blobs.Keep(raw) // so that building need not read it again
	if platform == workspace.AllPlatforms {
		return describe("", raw).Digest.String(), nil
	}
	p, err := parsePlatform(platform)
	if err != nil {
		return "", err
	}
	found, err := shelf{blobs: r.Blobs, from: from, reference: reference}.find(ctx, raw, p, 0)
	var missing *NoPlatformError
	switch {
	case errors.As(err, &missing):
		return "", missing
	case err != nil:
		return "", fmt.Errorf("look up base image %s: %w", reference, err)
	}
	return found.Digest.String(), nil
}

// NoBaseError says that a base image is not there.
type NoBaseError struct{ Reference string }

func (e *NoBaseError) Error() string { return "base image " + e.Reference + " does not exist" }

// Hint is how to mend it.
func (e *NoBaseError) Hint() string {
	if strings.HasPrefix(e.Reference, LayoutScheme) {
		return "the directory must be an OCI image layout, with index.json, and have the tag; relative ones start at the workspace root"
	}
	return "check its name and tag; a registry also says so of images that one may not see"
}

// locate says where the image of a reference is, and what it is called there:
// a tag, a digest, or empty for all that a layout has.
func locate(client *Client, root, reference string) (library, string, error) {
	if dir, target, ok := LayoutReference(root, reference); ok {
		return layoutDir(dir), target, nil
	}
	parsed, err := name.ParseReference(reference)
	if err != nil {
		return nil, "", fmt.Errorf("base image %q: %w", reference, err)
	}
	repo := &repository{host: client.hostOf(parsed.Context().Registry), name: parsed.Context()}
	return repo, parsed.Identifier(), nil
}

// LayoutReference reads "oci-layout://DIR", with ":tag", "@sha256:…" or both
// behind it: the directory, which root completes where it is relative, and the
// digest or else the tag, or empty. It is false for any other reference.
func LayoutReference(root, reference string) (dir, target string, ok bool) {
	dir, ok = strings.CutPrefix(reference, LayoutScheme)
	if !ok {
		return "", "", false
	}
	dir, target, _ = strings.Cut(dir, "@")
	if colon := strings.LastIndexByte(dir, ':'); colon > strings.LastIndexByte(dir, '/') {
		target = cmp.Or(target, dir[colon+1:])
		dir = dir[:colon]
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, filepath.FromSlash(dir))
	}
	return dir, target, true
}
