package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

// errNoDocker ends a command that is for Docker only.
var errNoDocker = errors.New("no Docker answers: start it, or name one with DOCKER_HOST or `docker context use`")

// loads bounds how many images are loaded into Docker at a time.
const loads = 4

func imagesLoad(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "load REFERENCE...",
		Short: "Load images of the layout into Docker",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			references := make([]orchestrator.Reference, len(args))
			for i, text := range args {
				reference, err := orchestrator.ParseReference(text)
				if err != nil {
					return usage(cmd, err)
				}
				references[i] = reference
			}
			return g.loadImages(cmd.Context(), references)
		},
	}
}

// loadImages hands images of the layout to Docker, and lists what it has taken.
func (g *globals) loadImages(ctx context.Context, references []orchestrator.Reference) error {
	layout, err := g.openLayout()
	if err != nil {
		return err
	}
	if !(images.Docker{}).Answers(ctx) {
		return errNoDocker
	}
	if err := load(ctx, layout, references); err != nil {
		return err
	}
	return g.printReferences(references)
}

// loadBuilt hands the images that a run has made or found to Docker, if one answers.
func (s *session) loadBuilt(ctx context.Context, summary orchestrator.Summary, layout *images.Layout) error {
	if !(images.Docker{}).Answers(ctx) {
		s.warn("no Docker answers: images are on disk only, and `toa images export` writes one as an archive")
		return nil
	}
	var references []orchestrator.Reference
	for id, reference := range summary.References {
		if id.Kind() != orchestrator.KindDependencies {
			references = append(references, reference)
		}
	}
	return load(ctx, layout, references)
}

func load(ctx context.Context, layout *images.Layout, references []orchestrator.Reference) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(loads)
	for _, reference := range references {
		group.Go(func() error { return images.Docker{}.Load(ctx, layout, reference) })
	}
	return group.Wait()
}
