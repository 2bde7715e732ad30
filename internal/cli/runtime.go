package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// runtimeFlags are those of `images runtime`.
type runtimeFlags struct {
	version, repository, base string
	platforms                 []string
	npm                       templates.NPM
	buildFlags
}

func imagesRuntime(g *globals) *cobra.Command {
	f := &runtimeFlags{}
	cmd := &cobra.Command{
		Use:   "runtime --version VERSION",
		Short: "Build the image that compositions start from",
		Long: `Runtime builds the image with Node.js and the Toa runtime that every
composition starts from, for who cannot reach the published one
(` + templates.RuntimeRepository + `). It needs an engine: BuildKit or Docker.
With --repository the image is pushed there, else it goes to the layout on disk.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.checkBuilder(cmd); err != nil {
				return err
			}
			return g.buildRuntime(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.version, "version", "", "the runtime's version, as npm knows it")
	flags.StringVar(&f.repository, "repository", "", "push to this repository, under the version as a tag")
	flags.StringVar(&f.base, "base", templates.RuntimeBase, "the image of Node.js")
	flags.StringSliceVar(&f.platforms, "platform", []string{orchestrator.HostPlatform()}, "the platforms to build for")
	flags.StringVar(&f.npm.Registry, "npm-registry", "", "where npm finds packages")
	flags.StringVar(&f.npm.Proxy, "npm-proxy", "", "npm's proxy")
	flags.StringVar(&f.builder, "builder", "", "buildkit or docker (default: buildkit where an address is known)")
	flags.StringVar(&f.builderAddress, "builder-address", "", "address of the engine (default: BUILDKIT_HOST)")
	_ = cmd.MarkFlagRequired("version")
	return cmd
}

func (g *globals) buildRuntime(ctx context.Context, f *runtimeFlags) error {
	cacheDir, err := g.cachePath()
	if err != nil {
		return err
	}
	blobs, err := cache.OpenBlobs(cacheDir)
	if err != nil {
		return err
	}
	client := &images.Client{}
	native := &images.Native{Blobs: blobs, Client: client, Root: g.start(), Layout: &images.Layout{Dir: filepath.Join(cacheDir, imagesDir), Blobs: blobs}}
	var registry orchestrator.Registry = native.Layout
	if f.repository != "" {
		registry, native.Layout = &images.Remote{Client: client, Blobs: blobs}, nil
	}
	builder, err := engines{
		kind: cmp.Or(f.builder, builderAuto), address: cmp.Or(f.builderAddress, g.io.Env("BUILDKIT_HOST")), root: native.Root, native: native, observe: g.observeBuild,
	}.inside()
	if err != nil {
		return err
	}
	made, err := images.Runtime{
		Base:     f.base,
		Resolver: &images.Resolver{Client: client, Blobs: blobs, Root: native.Root},
		Builder:  builder,
		Registry: registry,
	}.Make(ctx, cmp.Or(f.repository, templates.RuntimeRepository), f.version, f.platforms, f.npm)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(g.io.Out, made)
	return err
}

// observeBuild shows an engine's output as it comes.
func (g *globals) observeBuild(e orchestrator.Event) {
	switch e := e.(type) {
	case orchestrator.LogEvent:
		fmt.Fprintln(g.io.Err, ui.Escape(e.Text))
	case orchestrator.NoticeEvent:
		g.warn(e.Text)
	}
}

// inside is the builder of what has to run in an image.
func (e engines) inside() (orchestrator.Builder, error) {
	builder, err := e.builder()
	if err != nil {
		return nil, err
	}
	switch b := builder.(type) {
	case *images.Native:
		return nil, &configurationError{errors.New("the runtime is installed inside the image, which the native builder does not do: use buildkit or docker")}
	case *images.Chooser:
		_, engine := b.Engine()
		if engine == nil {
			return nil, &configurationError{errors.New("no engine is known: state --builder-address URL or BUILDKIT_HOST, or install Docker with buildx")}
		}
		return engine, nil
	}
	return builder, nil
}
