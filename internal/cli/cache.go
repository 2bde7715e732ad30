package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// kept are the parts of the cache directory, each of which can be deleted at
// any time. What stands in images is the only copy of images that went to no
// registry, so it is cleared only when that is asked for.
var kept = []struct{ dir, what string }{
	{"db", "what files hash to and what is published"},
	{"layers", "which layers are finished"},
	{"blobs", "finished layers, and manifests of base images"},
	{"npm", "packages that npm fetched"},
	{"charts", "packaged releases"},
	{"tmp", "work under way"},
	{claimsDir, "which images are being made"},
	{"images", "images that went to no registry"},
}

const (
	imagesDir = "images"
	claimsDir = "claims"
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
	clearing.Flags().BoolVar(&all, "images", false, "delete images that went to no registry too")
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
		files, bytes, err := measure(filepath.Join(root, part.dir))
		if err != nil {
			return err
		}
		fmt.Fprintf(g.io.Out, "  %-7s %9s in %-12s %s\n", part.dir, mebibytes(bytes), count(files, "file"), part.what)
	}
	return nil
}

func (g *globals) cacheClear(images bool) error {
	root, err := g.cachePath()
	if err != nil {
		return err
	}
	for _, part := range kept {
		if part.dir == imagesDir && !images {
			continue
		}
		if err := os.RemoveAll(filepath.Join(root, part.dir)); err != nil {
			return fmt.Errorf("clear cache: %w", err)
		}
	}
	return nil
}

func measure(dir string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it may be deleted at any time
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files++
			bytes += info.Size()
		}
		return nil
	})
	return files, bytes, err
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
