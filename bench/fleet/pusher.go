package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// base is an image that all stand on, of three small layers.
func base() (v1.Image, error) {
	image, err := random.Image(20_000, 3)
	if err != nil {
		return nil, fmt.Errorf("make base: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("make base: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	return mutate.ConfigFile(image, config)
}

// pusher publishes through a Pusher that all images share.
func (f fleet) pusher(ctx context.Context, by *line) (func(context.Context) error, func(), error) {
	from, err := base()
	if err != nil {
		return nil, nil, err
	}
	images := make([]v1.Image, f.images)
	for i := range images {
		if images[i], err = grown(from, f.layer(i, "one")); err != nil {
			return nil, nil, err
		}
	}
	if err := f.push(ctx, images, "one", by); err != nil {
		return nil, nil, err
	}
	for i := range images {
		if images[i], err = grown(from, f.layer(i, "two")); err != nil {
			return nil, nil, err
		}
	}
	return func(ctx context.Context) error { return f.push(ctx, images, "two", by) }, func() {}, nil
}

func (f fleet) push(ctx context.Context, images []v1.Image, tag string, by *line) error {
	pusher, err := remote.NewPusher(remote.WithTransport(by))
	if err != nil {
		return fmt.Errorf("make pusher: %w", err)
	}
	return f.each(ctx, jobs, func(ctx context.Context, i int) error {
		ref, err := name.NewTag(f.repository(i) + ":" + tag)
		if err != nil {
			return err
		}
		return pusher.Push(ctx, ref, images[i])
	})
}

// grown is the base with a layer of data, whose digest is known.
func grown(from v1.Image, data []byte) (v1.Image, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
	if err != nil {
		return nil, fmt.Errorf("make layer: %w", err)
	}
	image, err := mutate.AppendLayers(from, layer)
	if err != nil {
		return nil, fmt.Errorf("append layer: %w", err)
	}
	_, err = image.Digest()
	return image, err
}
