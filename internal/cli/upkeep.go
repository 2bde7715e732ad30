package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
)

// What is kept where nobody says otherwise.
const (
	keepAge   = 90 * 24 * time.Hour
	keepCount = 200      // images of a repository
	keepSize  = 20 << 10 // MiB of layers
	// The index holds some thousand images in so much; of what files hash to,
	// so much is more than any workspace needs.
	indexSize = 64 << 20
	filesSize = 256 << 20
)

// upkeepFlags bound what is kept.
type upkeepFlags struct {
	age   time.Duration
	count int
	size  int64 // MiB
}

func cachePrune(g *globals) *cobra.Command {
	f := upkeepFlags{}
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Drop what was not used for long, and give the space back",
		Long: `Prune drops what is known of images and layers beyond what is kept, the oldest
first. Other processes may work meanwhile. What is dropped is asked for or made again
when it is needed. Images that went to no registry stay: there is no other copy.

A build that makes something does the same once a day.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.age <= 0 || f.count <= 0 || f.size <= 0 {
				return usage(cmd, errors.New("--age, --count and --size take what is more than nothing: `toa cache clear` deletes all"))
			}
			return g.cachePrune(f)
		},
	}
	cmd.Flags().DurationVar(&f.age, "age", keepAge, "how long after its last use something is kept")
	cmd.Flags().IntVar(&f.count, "count", keepCount, "how many images of a repository are remembered")
	cmd.Flags().Int64Var(&f.size, "size", keepSize, "how many MiB of layers are kept")
	return cmd
}

func (g *globals) cachePrune(f upkeepFlags) error {
	root, err := g.cachePath()
	if err != nil {
		return err
	}
	rows, blobs, freed, err := f.prune(root, g.warn)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(g.io.Out, "dropped %s and %s, which frees %s; kept %s and %s\n",
		count(rows.Dropped, "image"), count(blobs.Dropped, "blob"), mebibytes(freed), count(rows.Kept, "image"), count(blobs.Kept, "blob"))
	return err
}

func (f upkeepFlags) prune(root string, warn func(string)) (rows, contents cache.Pruned, freed int64, err error) {
	now := time.Now()
	files, index := databases(root, warn)
	rows, err = cache.NewIndex(index).Prune(cache.Keep{Age: f.age, Count: f.count, Bytes: indexSize}, now)
	if err != nil {
		return rows, contents, 0, err
	}
	compacted, err := files.Compact(filesSize, now)
	if err != nil {
		return rows, contents, 0, err
	}
	blobs, err := cache.OpenBlobs(root)
	if err != nil {
		return rows, contents, 0, err
	}
	contents, err = blobs.Prune(cache.Keep{Age: f.age, Bytes: f.size << 20}, now)
	return rows, contents, rows.Freed + compacted.Freed + contents.Freed, err
}

// tidied is the file whose time says when the cache was pruned last.
const tidied = "pruned"

// tidy prunes once a day, when a run has made something. It costs no run its
// success.
func (s *session) tidy(summary orchestrator.Summary) {
	if summary.Built == 0 {
		return
	}
	mark := filepath.Join(s.cache, tidied)
	if info, err := os.Stat(mark); err == nil && time.Since(info.ModTime()) < 24*time.Hour {
		return
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return // it would be done after every run
	}
	if _, _, _, err := (upkeepFlags{keepAge, keepCount, keepSize}).prune(s.cache, s.warn); err != nil {
		s.warn(err.Error())
	}
}

func cacheVerify(g *globals) *cobra.Command {
	var deep bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check what is kept, and drop what is damaged",
		Long: `Verify compares every record with its checksum and looks for the content of every
layer. With --deep it also reads all content and compares it with its digest, that of
images which went to no registry too. What is damaged is dropped, so that it is found
out or made again, and the exit code is 1.

It asks no registry: ` + "`toa graph build --verify always`" + ` does.`,
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
	return g.verify(checks)
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
		if err != nil {
			return err
		}
		damaged += found.Damaged
		fmt.Fprintf(g.io.Out, "  %-7s %s whole, %d damaged\n", c.part, count(found.Whole, c.of), found.Damaged)
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
