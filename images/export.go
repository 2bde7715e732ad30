package images

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
)

// List lists what is published here, by repository and tag. An image of which
// something is missing is not listed.
func (l *Layout) List(ctx context.Context) ([]orchestrator.Reference, error) {
	var found []orchestrator.Reference
	err := l.each(ctx, func(dir layoutDir, repository string) error {
		found = append(found, references(ctx, dir, repository)...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	slices.SortFunc(found, func(a, b orchestrator.Reference) int { return strings.Compare(a.String(), b.String()) })
	return found, nil
}

// each visits the layouts of all repositories.
func (l *Layout) each(ctx context.Context, do func(dir layoutDir, repository string) error) error {
	return filepath.WalkDir(l.Dir, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && at == l.Dir:
			return fs.SkipAll
		case err != nil:
			return err
		case entry.IsDir() && isBlobs(at):
			return fs.SkipDir
		case entry.IsDir() || entry.Name() != indexFile:
			return nil
		}
		repository, err := filepath.Rel(l.Dir, filepath.Dir(at))
		if err != nil {
			return err
		}
		if err := do(layoutDir(filepath.Dir(at)), filepath.ToSlash(repository)); err != nil {
			return err
		}
		return context.Cause(ctx)
	})
}

// isBlobs tells a layout's blobs from a repository of that name.
func isBlobs(dir string) bool {
	_, err := os.Lstat(filepath.Join(filepath.Dir(dir), layoutFile))
	return err == nil && filepath.Base(dir) == "blobs"
}

func references(ctx context.Context, dir layoutDir, repository string) []orchestrator.Reference {
	var found []orchestrator.Reference
	for _, d := range dir.index().Manifests {
		tag := d.Annotations[tagAnnotation]
		if _, err := dir.complete(ctx, d); err == nil && tag != "" {
			found = append(found, orchestrator.Reference{Repository: repository, Tag: tag, Digest: d.Digest.String()})
		}
	}
	return found
}

// Export writes one image as the tar of an OCI image layout, which also is an
// archive of Docker's: docker load, podman load and ctr images import read it,
// and know the image by its full name. What Docker keeps of several platforms
// is its own business; a docker without the containerd image store takes this
// machine's, or else the first. It returns a NotOnDiskError for what is not
// here. Equal images give equal bytes.
func (l *Layout) Export(ctx context.Context, ref orchestrator.Reference, w io.Writer) error {
	dir, err := l.dir(ref.Repository)
	if err != nil {
		return err
	}
	var all []v1.Descriptor
	d, err := dir.find(ref)
	if err == nil {
		ref.Tag = d.Annotations[tagAnnotation]
		all, err = dir.complete(ctx, d)
	}
	switch {
	case errors.Is(err, cache.ErrNotFound):
		return &NotOnDiskError{Reference: ref}
	case err != nil:
		return fmt.Errorf("export %s: %w", ref, err)
	}
	if err := export(ctx, w, dir, ref, all); err != nil {
		return fmt.Errorf("export %s: %w", ref, err)
	}
	return nil
}

// find is the descriptor of the image that a reference means, by its tag, by its
// digest, or by both, which then agree; or cache.ErrNotFound.
func (l layoutDir) find(ref orchestrator.Reference) (v1.Descriptor, error) {
	return l.first(func(d v1.Descriptor) bool {
		return (ref.Tag == "" || d.Annotations[tagAnnotation] == ref.Tag) && (ref.Digest == "" || d.Digest.String() == ref.Digest)
	})
}

// export writes the archive of an image whose blobs are all, itself first.
func export(ctx context.Context, w io.Writer, dir layoutDir, ref orchestrator.Reference, all []v1.Descriptor) error {
	frame, err := exportFrame(ctx, dir, ref, all)
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(frame)) {
		if err := exportHeader(out, name, int64(len(frame[name]))); err != nil {
			return err
		}
		if _, err := out.Write(frame[name]); err != nil {
			return err
		}
	}
	if err := exportBlobs(ctx, out, dir, all); err != nil {
		return err
	}
	return out.Close()
}

// dockerManifest is Docker's file that says where an archive's image is.
const dockerManifest = "manifest.json"

// dockerImage is one entry of it.
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// exportFrame is what makes the archive one of one image: files by name.
func exportFrame(ctx context.Context, dir layoutDir, ref orchestrator.Reference, all []v1.Descriptor) (map[string][]byte, error) {
	full, err := fullName(ref)
	if err != nil {
		return nil, err
	}
	top := annotated(all[0], ref)
	top.Annotations[imageAnnotation] = full
	index, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{top}})
	if err != nil {
		return nil, err
	}
	one, err := dockerEntry(ctx, dir, all[0])
	if err != nil {
		return nil, err
	}
	one.RepoTags = []string{full}
	listed, err := json.Marshal([]dockerImage{one})
	if err != nil {
		return nil, err
	}
	return map[string][]byte{layoutFile: []byte(layoutVersion), indexFile: index, dockerManifest: listed}, nil
}

// fullName is a reference with its host: engines keep images by that. Without
// one it is Docker Hub's.
func fullName(ref orchestrator.Reference) (string, error) {
	parsed, err := name.NewTag(ref.Repository + ":" + ref.Tag)
	if err != nil {
		return "", err
	}
	return strings.Replace(parsed.Name(), name.DefaultRegistry+"/", "docker.io/", 1), nil
}

// dockerEntry describes the image of one platform: this machine's or the first.
func dockerEntry(ctx context.Context, dir layoutDir, d v1.Descriptor) (dockerImage, error) {
	m, err := dir.parsed(ctx, d)
	if err != nil {
		return dockerImage{}, err
	}
	if len(m.Manifests) > 0 {
		host, err := parsePlatform(orchestrator.HostPlatform())
		if err != nil {
			return dockerImage{}, err
		}
		at := slices.IndexFunc(m.Manifests, func(d v1.Descriptor) bool { return d.Platform != nil && samePlatform(*d.Platform, host) })
		return dockerEntry(ctx, dir, m.Manifests[max(0, at)])
	}
	one := dockerImage{Config: blobPath(m.Config.Digest)}
	for _, layer := range m.Layers {
		one.Layers = append(one.Layers, blobPath(layer.Digest))
	}
	return one, nil
}

// parsed reads a manifest or index.
func (l layoutDir) parsed(ctx context.Context, d v1.Descriptor) (manifest, error) {
	body, err := l.open(ctx, d)
	if err != nil {
		return manifest{}, err
	}
	defer func() { _ = body.Close() }()
	raw, err := readSmall(body)
	if err != nil {
		return manifest{}, err
	}
	return parseManifest(raw)
}

// blobPath is where a layout has a blob.
func blobPath(digest v1.Hash) string { return path.Join("blobs", digest.Algorithm, digest.Hex) }

func exportBlobs(ctx context.Context, out *tar.Writer, dir layoutDir, all []v1.Descriptor) error {
	slices.SortFunc(all, func(a, b v1.Descriptor) int { return strings.Compare(a.Digest.Hex, b.Digest.Hex) })
	all = slices.CompactFunc(all, func(a, b v1.Descriptor) bool { return a.Digest == b.Digest })
	for _, d := range all {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := exportHeader(out, blobPath(d.Digest), d.Size); err != nil {
			return err
		}
		body, err := dir.open(ctx, d)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, body)
		_ = body.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func exportHeader(out *tar.Writer, name string, size int64) error {
	return out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0)})
}
