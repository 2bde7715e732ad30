package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

func (f fleet) repository(i int) string { return fmt.Sprintf("%s/composition-%d", f.target, i) }

// layer is what is in the layer of an image.
func (f fleet) layer(i int, version string) []byte {
	random := rand.New(rand.NewPCG(f.seed, uint64(i)))
	data := []byte(version)
	for range layerSize {
		data = append(data, byte(random.Uint32()))
	}
	return data
}

// ours is what a run of toa has.
type ours struct {
	fleet
	dir string // of the cache, and of sources
	pin string // the digest of the base
	// blobs and client are of all that is done; a Remote is made for each run.
	blobs  *cache.Blobs
	client *images.Client
	steps  []orchestrator.Step
	images []orchestrator.Artifact
}

// toa publishes as a run of toa does.
func (f fleet) toa(ctx context.Context, by *line) (func(context.Context) error, func(), error) {
	dir, err := os.MkdirTemp("", "toa-bench-fleet-")
	if err != nil {
		return nil, nil, fmt.Errorf("make directory: %w", err)
	}
	done := func() { _ = os.RemoveAll(dir) }
	o := &ours{fleet: f, dir: dir, client: &images.Client{Transport: by}}
	if err := o.prepare(ctx); err != nil {
		done()
		return nil, nil, err
	}
	return o.publish, done, nil
}

// prepare publishes what is there before the change, and builds what comes after.
func (o *ours) prepare(ctx context.Context) (err error) {
	if o.blobs, err = cache.OpenBlobs(o.dir); err != nil {
		return err
	}
	if err := o.putBase(); err != nil {
		return err
	}
	if err := o.build(ctx, "one"); err != nil {
		return err
	}
	if err := o.publish(ctx); err != nil {
		return err
	}
	before := make([]string, o.fleet.images)
	for i := range before {
		before[i] = o.images[i].Digest()
	}
	if err := o.build(ctx, "two"); err != nil {
		return err
	}
	for i := range before {
		o.steps[i].Previous = before[i]
	}
	return nil
}

func (o *ours) putBase() error {
	image, err := base()
	if err != nil {
		return err
	}
	ref, err := name.NewTag(o.target + "/base:1")
	if err != nil {
		return err
	}
	if err := remote.Write(ref, image); err != nil {
		return fmt.Errorf("publish base: %w", err)
	}
	digest, err := image.Digest()
	o.pin = digest.String()
	return err
}

func (o *ours) build(ctx context.Context, version string) error {
	o.steps, o.images = nil, nil
	builder := &images.Native{Blobs: o.blobs, Client: o.client}
	for i := range o.fleet.images {
		step, err := o.step(i, version)
		if err != nil {
			return err
		}
		image, err := builder.Build(ctx, step, nil)
		if err != nil {
			return fmt.Errorf("build image: %w", err)
		}
		o.steps, o.images = append(o.steps, step), append(o.images, image)
	}
	return nil
}

// step is an image of one component that has one file.
func (o *ours) step(i int, version string) (orchestrator.Step, error) {
	dir := filepath.Join(o.dir, "sources", version, fmt.Sprint(i))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return orchestrator.Step{}, fmt.Errorf("make source: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data.bin"), o.layer(i, version), 0o600); err != nil {
		return orchestrator.Step{}, fmt.Errorf("make source: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return orchestrator.Step{}, fmt.Errorf("hash source: %w", err)
	}
	defer root.Close() //nolint:errcheck // it only gives a descriptor back
	file, err := cache.FileAt(root, "data.bin")
	return orchestrator.Step{
		ID: "composition/edge",
		Recipe: templates.Recipe{
			Kind: "composition", Base: o.target + "/base:1", Digests: []string{o.pin}, Platforms: []string{"linux/amd64"},
			Workdir: "/composition", Cmd: "toa compose *", Copies: []templates.Copy{{Label: "bench-c"}},
		},
		Reference: orchestrator.Reference{Repository: o.repository(i), Tag: version},
		Sources:   []orchestrator.Source{{Label: "bench-c", Component: "bench.c", Dir: dir, Tree: cache.NewTree([]cache.File{file})}},
	}, err
}

// publish looks all tags up, then publishes.
func (o *ours) publish(ctx context.Context) error {
	const questions = 16 // at a time, as the orchestrator puts them
	to := &images.Remote{Client: o.client, Blobs: o.blobs}
	if err := o.each(ctx, questions, func(ctx context.Context, i int) error {
		if _, err := to.Has(ctx, o.steps[i].Reference); !errors.Is(err, cache.ErrNotFound) {
			return fmt.Errorf("look up %s: expected nothing there: %w", o.steps[i].Reference, err)
		}
		return to.Prepare(ctx, o.steps[i])
	}); err != nil {
		return err
	}
	return o.each(ctx, jobs, func(ctx context.Context, i int) error {
		_, err := to.Publish(ctx, o.steps[i], o.images[i])
		return err
	})
}
