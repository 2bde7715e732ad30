package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
)

func imagesCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "images", Short: "Images that went to no registry"}
	list := &cobra.Command{
		Use:   "ls",
		Short: "List images in the layout on disk",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return g.listImages(cmd.Context()) },
	}
	var output string
	export := &cobra.Command{
		Use:   "export REFERENCE",
		Short: "Write an image as an OCI archive, for docker load, skopeo or ctr",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			reference, err := orchestrator.ParseReference(args[0])
			if err != nil {
				return usage(cmd, err)
			}
			return g.exportImage(cmd.Context(), reference, output)
		},
	}
	export.Flags().StringVarP(&output, "output", "o", "-", "the file to write, or - for standard output")
	cmd.AddCommand(list, export, imagesLoad(g), imagesRuntime(g))
	return cmd
}

func (g *globals) openLayout() (*images.Layout, error) {
	cacheDir, err := g.cachePath()
	if err != nil {
		return nil, err
	}
	blobs, err := cache.OpenBlobs(cacheDir)
	if err != nil {
		return nil, err
	}
	return &images.Layout{Dir: filepath.Join(cacheDir, imagesDir), Blobs: blobs}, nil
}

func (g *globals) listImages(ctx context.Context) error {
	layout, err := g.openLayout()
	if err != nil {
		return err
	}
	references, err := layout.List(ctx)
	if err != nil {
		return err
	}
	return g.printReferences(references)
}

// printReferences writes references to standard output, a line each.
func (g *globals) printReferences(references []orchestrator.Reference) error {
	for _, reference := range references {
		if _, err := fmt.Fprintln(g.io.Out, ui.Escape(reference.String())); err != nil {
			return err
		}
	}
	return nil
}

func (g *globals) exportImage(ctx context.Context, reference orchestrator.Reference, output string) error {
	layout, err := g.openLayout()
	if err != nil {
		return err
	}
	if output == "-" {
		return layout.Export(ctx, reference, g.io.Out)
	}
	return replace(output, 0o644, func(w io.Writer) error { return layout.Export(ctx, reference, w) })
}
