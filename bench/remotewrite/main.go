// Command remotewrite publishes a directory as an image in the way that
// programs on go-containerregistry commonly do: one layer made by its tarball
// package, added to an empty image, sent by remote.Write. With -base it does so
// for each component of a workspace, four at a time: a layer on that image, which
// is made where it is not there, sent by one Pusher to a repository below HOST/PREFIX.
//
//	remotewrite -C DIR REFERENCE
//	remotewrite -C WORKSPACE -base REFERENCE HOST/PREFIX:TAG
package main

import (
	"archive/tar"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func main() {
	dir := flag.String("C", ".", "directory to publish")
	base := flag.String("base", "", "publish the components of a workspace as images that stand on this one")
	flag.Parse()
	if err := publish(context.Background(), *dir, *base, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "remotewrite:", err)
		os.Exit(1)
	}
}

func publish(ctx context.Context, dir, base, reference string) error {
	ref, err := name.NewTag(reference)
	if err != nil {
		return err
	}
	if base != "" {
		return workspace{dir: dir, base: base, target: ref.Repository.Name(), tag: ref.TagStr()}.publish(ctx)
	}
	image, err := assemble(empty.Image, os.DirFS(dir), "composition/component")
	if err != nil {
		return err
	}
	if err := remote.Write(ref, image, remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	return nil
}

// assemble makes the image that toa makes of one component.
func assemble(from v1.Image, files fs.FS, prefix string, options ...tarball.LayerOption) (v1.Image, error) {
	var archive bytes.Buffer
	if err := pack(&archive, files, prefix); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
	}, options...)
	if err != nil {
		return nil, fmt.Errorf("make layer: %w", err)
	}
	image, err := mutate.AppendLayers(from, layer)
	if err != nil {
		return nil, fmt.Errorf("append layer: %w", err)
	}
	config := v1.Config{WorkingDir: "/composition", Cmd: []string{"sh", "-c", "toa compose *"}}
	if image, err = mutate.Config(image, config); err != nil {
		return nil, fmt.Errorf("configure image: %w", err)
	}
	return image, nil
}

// pack writes all regular files below prefix.
func pack(out io.Writer, files fs.FS, prefix string) error {
	archive := tar.NewWriter(out)
	err := fs.WalkDir(files, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, file)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: path.Join(prefix, file), Mode: 0o644, Size: int64(len(data))}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err = archive.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("pack files: %w", err)
	}
	return archive.Close()
}
