package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"toa.io/toa/cache"
)

// kept are the parts of the cache directory, each of which can be deleted at
// any time. What stands in images, and in the registry for development, is the
// only copy of what it is, so it is cleared only when that is asked for.
var kept = []struct{ dir, what string }{
	{"db", "what files hash to and what is published"},
	{"layers", "which layers are finished"},
	{"blobs", "finished layers, and manifests of base images"},
	{npmDir, "packages that npm fetched"},
	{chartsDir, "packaged releases"},
	{stagedDir, "workspaces that were made of lists"},
	{"tmp", "work under way"},
	{claimsDir, "which images are being made"},
	{imagesDir, "images that went to no registry"},
	{registryDir, "images of `toa registry serve`"},
}

const (
	imagesDir   = "images"
	registryDir = "registry"
	claimsDir   = "claims"
	chartsDir   = "charts"
	npmDir      = "npm"
)

func cacheCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "cache", Short: "Look at and clear what is kept between runs"}
	status := &cobra.Command{
		Use:   "status",
		Short: "Say what is kept and how large it is",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return g.cacheStatus() },
	}
	var all bool
	clearing := &cobra.Command{
		Use:   "clear",
		Short: "Delete what is kept; the next build takes longer and comes to the same",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return g.cacheClear(all) },
	}
	clearing.Flags().BoolVar(&all, "images", false, "delete images that went to no registry too, and those of `toa registry serve`")
	cmd.AddCommand(status, cacheVerify(g), cachePrune(g), clearing)
	return cmd
}

func (g *globals) cacheStatus() error {
	root, err := g.cachePath()
	if err != nil {
		return err
	}
	fmt.Fprintln(g.io.Out, root)
	for _, part := range kept {
		usage, err := cache.Measure(filepath.Join(root, part.dir))
		if err != nil {
			return err
		}
		fmt.Fprintf(g.io.Out, "  %-8s %9s in %-12s %s\n", part.dir, mebibytes(usage.Bytes), count(usage.Files, "file"), part.what)
	}
	return nil
}

func (g *globals) cacheClear(images bool) error {
	root, err := g.cachePath()
	if err != nil {
		return err
	}
	for _, part := range kept {
		if (part.dir == imagesDir || part.dir == registryDir) && !images {
			continue
		}
		if err := g.clearPart(root, part.dir); err != nil {
			return fmt.Errorf("clear cache: %w", err)
		}
	}
	return nil
}

// clearPart deletes a part, but for workspaces in which somebody is at work.
func (g *globals) clearPart(root, dir string) error {
	if dir != stagedDir {
		return os.RemoveAll(filepath.Join(root, dir))
	}
	busy, err := cache.ClearThings(root, stagedDir+"/*")
	if busy > 0 {
		g.warn(count(busy, "workspace") + " in " + filepath.Join(root, dir) + " in use: left alone")
	}
	return err
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
