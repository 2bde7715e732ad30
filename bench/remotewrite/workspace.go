package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sync/errgroup"
)

// jobs is how many images toa builds at a time by default.
const jobs = 4

// workspace is a directory of components, each of which is published as an image.
type workspace struct {
	dir    string
	base   string // what all images stand on; made where it is not there
	target string // HOST/PREFIX of the repositories
	tag    string
}

// publish packs and sends all components through one Pusher, which asks nothing
// and sends nothing twice. A layer is compressed once.
func (w workspace) publish(ctx context.Context) error {
	components, err := filepath.Glob(filepath.Join(w.dir, "components", "*"))
	if err != nil || len(components) == 0 {
		return fmt.Errorf("no components in %s: %w", w.dir, err)
	}
	from, err := w.from(ctx)
	if err != nil {
		return err
	}
	pusher, err := remote.NewPusher()
	if err != nil {
		return fmt.Errorf("make pusher: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(jobs)
	for _, dir := range components {
		group.Go(func() error { return w.component(ctx, pusher, from, dir) })
	}
	return group.Wait()
}

func (w workspace) component(ctx context.Context, pusher *remote.Pusher, from v1.Image, dir string) error {
	ref, err := name.NewTag(w.target + "/" + filepath.Base(dir) + ":" + w.tag)
	if err != nil {
		return err
	}
	image, err := assemble(from, os.DirFS(dir), path.Join("composition", filepath.Base(dir)), tarball.WithCompressedCaching)
	if err != nil {
		return err
	}
	return pusher.Push(ctx, ref, image)
}

// from is the base as it is published.
func (w workspace) from(ctx context.Context) (v1.Image, error) {
	ref, err := name.NewTag(w.base)
	if err != nil {
		return nil, err
	}
	image, err := remote.Image(ref, remote.WithContext(ctx))
	if answer := (*transport.Error)(nil); !errors.As(err, &answer) || answer.StatusCode != http.StatusNotFound {
		return image, err
	}
	if err := putBase(ctx, ref); err != nil {
		return nil, fmt.Errorf("publish base: %w", err)
	}
	return remote.Image(ref, remote.WithContext(ctx))
}

// putBase publishes an image of three small layers.
func putBase(ctx context.Context, ref name.Tag) error {
	image, err := random.Image(20_000, 3)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	return remote.Write(ref, image, remote.WithContext(ctx))
}
