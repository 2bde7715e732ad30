package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"toa.io/toa/cache"
)

func cacheVerify(g *globals) *cobra.Command {
	var deep bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check what is kept, and drop what is damaged",
		Long: `Verify compares every record with its checksum and looks for the content of every
layer. With --deep it also reads all content and compares it with its digest: what is
kept here, images which went to no registry too, and what registries hold of the images
that are known here. What is damaged or lost is dropped, so that it is found out, made
or published again, and the exit code is 1. Ctrl-C keeps what was found until then.

Only --deep asks registries, and reads all of each image there once: it says how much
that is. Whether images are there, but not whether they are whole, is what
` + "`toa graph build --verify always`" + ` finds out, with a request for each.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.cacheVerify(cmd.Context(), deep) },
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "read all content")
	return cmd
}

func (g *globals) cacheVerify(ctx context.Context, deep bool) error {
	root, err := g.cachePath()
	if err != nil {
		return err
	}
	blobs, err := cache.OpenBlobs(root)
	if err != nil {
		return err
	}
	files, index := databases(root, g.warn)
	checks := []verification{
		{"index", "record", index.Verify},
		{"files", "record", files.Verify},
	}
	if deep {
		for _, dir := range []string{"blobs", imagesDir} {
			checks = append(checks, verification{dir, "blob", func() (cache.Verified, error) {
				return cache.VerifyContents(ctx, filepath.Join(root, dir))
			}})
		}
	}
	checks = append(checks, verification{"layers", "layer", blobs.VerifyLayers}) // last: it misses what was just dropped
	err = g.verify(checks)
	if deep && ctx.Err() == nil {
		err = errors.Join(err, g.inspect(ctx, blobs, cache.NewIndex(index)))
	}
	return err
}

// verification looks at one part of the cache.
type verification struct {
	part, of string
	run      func() (cache.Verified, error)
}

func (g *globals) verify(checks []verification) error {
	damaged := 0
	for _, c := range checks {
		found, err := c.run()
		if err == nil || found != (cache.Verified{}) {
			fmt.Fprintf(g.io.Out, "  %-7s %s whole, %d damaged; %s read\n", c.part, count(found.Whole, c.of), found.Damaged, mebibytes(found.Bytes))
		}
		if err != nil {
			return err
		}
		damaged += found.Damaged
	}
	if damaged > 0 {
		return &damagedError{damaged}
	}
	return nil
}

// damagedError says that something of the cache was damaged.
type damagedError struct{ n int }

func (e *damagedError) Error() string {
	return fmt.Sprintf("%d damaged in the cache, expected none: dropped", e.n)
}

// Hint says that nothing has to be done.
func (e *damagedError) Hint() string {
	return "the next build makes again what it needs; where this comes back the disk may be failing"
}
