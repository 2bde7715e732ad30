package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"toa.io/toa/images"
)

func exportImages(g *globals) *cobra.Command {
	f := &planFlags{}
	cmd := &cobra.Command{
		Use:     "images ENVIRONMENT DIR",
		Aliases: []string{"img"},
		Short:   "Write the build contexts of all images into an empty directory, and print its path",
		Long: `Images writes a build context for each image that is built, as "<image>.<tag>",
those of dependencies images below "dependencies", whether the image is published
or not. Each holds a Dockerfile that BuildKit builds as it stands; build arguments
and .npmrc files are given to it as secrets (--secret). Equal workspaces give equal
directories, times included. It plans offline, and builds nothing.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.exportImages(cmd, args[0], args[1], f)
		},
	}
	cmd.Flags().BoolVar(&f.mono, "mono", false, monoUsage)
	cmd.Flags().StringVar(&f.registry, "registry", "", "name images under this base instead of registry.base")
	return cmd
}

func (g *globals) exportImages(cmd *cobra.Command, environment, target string, f *planFlags) error {
	dir, err := emptyDirectory(target)
	if err != nil {
		return usage(cmd, err)
	}
	s, plan, err := g.planned(cmd, environment, f.registry, false, f.mono)
	if err != nil {
		return err
	}
	defer s.close()
	if err := images.WriteContexts(cmd.Context(), dir, plan.Steps); err != nil {
		return err
	}
	_, err = fmt.Fprintln(g.io.Out, dir)
	return err
}
