// Package docker makes images with `docker buildx`, for what must run inside an
// image and for teams whose builder Docker is. It knows docker's commands and
// what they say; it knows nothing of registries: what buildx has built comes
// back as an archive (`--output type=oci,dest=-`) and is an image like any
// other.
//
// The reference lets buildx publish (`--push`). We do not: that writes the tag
// in the same breath as the rest, over whatever stands there, unverified; here
// blobs come first, then the manifest by digest, then the tag, then the index.
// Nor is there `--load`: it fetches the same archive and passes it to `docker
// load`, which images.Docker does for images of any builder.
//
// Its users may rely on this: argument lists hold no secret; the build context
// is a private directory that is gone when a call returns; when a call
// returns, its children have ended.
package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

// Builder builds with `docker buildx`. Make one for a run. Nothing is asked of
// docker before the first Build.
type Builder struct {
	Blobs *cache.Blobs
	// Layout is where images are published when they go to disk, else nil.
	Layout *images.Layout
	// Root is the directory that relative "oci-layout://DIR" references start from.
	Root string
	// Cache is where the registry keeps build caches, such as
	// "registry.example.com/shop/buildcache"; empty means nowhere.
	Cache string
	// HostOnly says that the context asks for the host's platform only
	// (`registry.platforms: null`): docker's own builder does, where it can give
	// images out.
	HostOnly bool
	// Docker is the docker command; empty means "docker".
	Docker string
	// Patience is how long to wait for another process that makes docker's builder
	// ready and gives no sign of life. Zero means ten seconds.
	Patience time.Duration
	// Observe gets docker's output and notices; it may be nil.
	Observe orchestrator.Observe

	engine engine
}

var _ orchestrator.Builder = (*Builder)(nil)

// Build implements orchestrator.Builder.
func (b *Builder) Build(ctx context.Context, step orchestrator.Step, deps []orchestrator.Result) (image orchestrator.Artifact, err error) {
	content, err := images.ContextOf(step)
	if err != nil {
		return nil, err
	}
	builder, err := b.ready(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := b.Blobs.Temp("docker")
	if err != nil {
		return nil, fmt.Errorf("write build context: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	base, err := b.base(step, deps)
	if err != nil {
		return nil, err
	}
	s := stage{step: step, content: content, base: base}
	if err := s.write(ctx, dir); err != nil {
		return nil, fmt.Errorf("write build context: %w", err)
	}
	built, err := b.buildx(ctx, s, builder)
	if errors.Is(err, errNoArchive) {
		// Only a docker that keeps images the old way says so, and at once.
		b.engine.refuse()
		if builder, err = b.ready(ctx); err == nil {
			built, err = b.buildx(ctx, s, builder)
		}
	}
	if err != nil {
		return nil, err
	}
	return built, nil
}

// buildx builds what is staged and takes the image in while it is written.
func (b *Builder) buildx(ctx context.Context, s stage, builder string) (*images.Image, error) {
	seen := newProgress(s, b.Observe)
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := b.command(s.dir, seen.line).run(ctx, writer, b.arguments(s, builder))
		_ = writer.CloseWithError(err)
		ended <- err
	}()
	image, reading := images.ReadArchive(ctx, b.Blobs, reader, s.step)
	if reading == nil {
		_, reading = io.Copy(io.Discard, reader) // what pads the archive
	}
	_ = reader.CloseWithError(errUnread)
	err := <-ended
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && (reading == nil || errors.Is(reading, err)):
		return nil, seen.explain(err)
	case reading != nil:
		return nil, reading
	}
	return image, nil
}

// errUnread ends the child's writing after its archive could not be read.
var errUnread = errors.New("image archive is read no further")
