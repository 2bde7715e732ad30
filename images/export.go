package images

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"toa.io/toa/orchestrator"
)

// List lists what is published here, by repository and tag. An image of which
// something is missing is not listed.
func (l *Layout) List(ctx context.Context) ([]orchestrator.Reference, error) {
	var found []orchestrator.Reference
	err := filepath.WalkDir(l.Dir, func(at string, entry fs.DirEntry, err error) error {
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
		found = append(found, references(ctx, layoutDir(filepath.Dir(at)), filepath.ToSlash(repository))...)
		return context.Cause(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	slices.SortFunc(found, func(a, b orchestrator.Reference) int { return strings.Compare(a.String(), b.String()) })
	return found, nil
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

// Export writes one image as the tar of an OCI image layout, which docker load
// and most tools read. It returns cache.ErrNotFound for what is not published
// here. Equal images give equal bytes.
func (l *Layout) Export(ctx context.Context, ref orchestrator.Reference, w io.Writer) error {
	dir, err := l.dir(ref.Repository)
	if err != nil {
		return err
	}
	d, err := dir.tagged(ref.Tag)
	if err != nil {
		return err
	}
	all, err := dir.complete(ctx, d)
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	if err := exportFrame(out, ref, d); err != nil {
		return fmt.Errorf("export %s: %w", ref, err)
	}
	if err := exportBlobs(ctx, out, dir, all); err != nil {
		return fmt.Errorf("export %s: %w", ref, err)
	}
	return out.Close()
}

// exportFrame writes what makes the archive a layout of one image.
func exportFrame(out *tar.Writer, ref orchestrator.Reference, d v1.Descriptor) error {
	index, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, Manifests: []v1.Descriptor{annotated(d, ref)}})
	if err != nil {
		return err
	}
	for _, one := range []struct {
		name string
		data []byte
	}{{layoutFile, []byte(layoutVersion)}, {indexFile, index}} {
		if err := exportHeader(out, one.name, int64(len(one.data))); err != nil {
			return err
		}
		if _, err := out.Write(one.data); err != nil {
			return err
		}
	}
	return nil
}

func exportBlobs(ctx context.Context, out *tar.Writer, dir layoutDir, all []v1.Descriptor) error {
	slices.SortFunc(all, func(a, b v1.Descriptor) int { return strings.Compare(a.Digest.Hex, b.Digest.Hex) })
	all = slices.CompactFunc(all, func(a, b v1.Descriptor) bool { return a.Digest == b.Digest })
	for _, d := range all {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := exportHeader(out, path.Join("blobs", d.Digest.Algorithm, d.Digest.Hex), d.Size); err != nil {
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
