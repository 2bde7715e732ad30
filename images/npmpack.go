package images

import (
	"archive/tar"
	"bytes"
	"fmt"
	"path"
	"slices"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
	"toa.io/toa/workspace"
)

// pack makes the archive of a package's directory, as npm publishes one. It is
// not compressed, so that equal files give equal bytes whatever made them.
func (l locals) pack(one *local, from orchestrator.Local) error {
	if one.archive != nil {
		return nil // it is one already
	}
	if _, err := l.rewrite(one.manifest, false); err != nil {
		return err
	}
	dir, err := cache.OpenDir(from.Path)
	if err != nil {
		return err
	}
	defer dir.Close()
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, file := range from.Tree.Files() {
		switch {
		case slices.Contains(workspace.Lockfiles, file.Path):
			continue
		case file.Kind == cache.Symlink:
			return &PackedLinkError{Link: path.Join(path.Base(from.Path), file.Path), Target: file.Link}
		case file.Path == "package.json":
			file = cache.Generated(file.Path, encode(one.manifest))
		}
		if err := packFile(archive, file, dir); err != nil {
			return err
		}
		if out.Len() > maxNPMFile {
			return fmt.Errorf("its files are more than %d MiB: list what is no part of it in %s", maxNPMFile>>20, cache.IgnoreFile)
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	one.archive = out.Bytes()
	return nil
}

func packFile(archive *tar.Writer, file cache.File, dir *cache.Dir) error {
	header := &tar.Header{Name: "package/" + file.Path, Mode: 0o644, Size: file.Size, ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg}
	if file.Exec {
		header.Mode = 0o755
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	return file.CopyTo(archive, dir)
}

// PackedLinkError says that a package of the workspace has a link: npm installs
// none.
type PackedLinkError struct{ Link, Target string }

func (e *PackedLinkError) Error() string {
	return fmt.Sprintf("link %q to %q: packages are installed without their links", e.Link, e.Target)
}

// Hint is how to mend it.
func (e *PackedLinkError) Hint() string {
	return "put a copy in its place, or list it in the " + cache.IgnoreFile + " beside the package.json"
}
