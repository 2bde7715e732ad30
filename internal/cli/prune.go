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
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

// What is kept where nobody says otherwise.
const (
	keepAge   = 90 * 24 * time.Hour
	keepCount = 200      // images of a repository, packages of a workspace
	keepSize  = 20 << 10 // MiB of layers
)

// What is kept at most.
const (
	// The index holds some thousand images in so much; of what files hash to,
	// so much is more than any workspace needs.
	indexSize = 64 << 20
	filesSize = 256 << 20
	// npm's own cache goes as a whole: only npm knows what in it belongs together.
	npmSize    = 4 << 30
	stagedSize = 4 << 30
)

// limits bound what is kept.
type limits struct {
	age   time.Duration
	count int
	size  int64 // MiB
}

func cachePrune(g *globals) *cobra.Command {
	l := limits{}
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Drop what was not used for long, and give the space back",
		Long: `Prune drops what is beyond what is kept, the oldest first: what is known of images,
layers, images that went to no registry, workspaces that were made of lists, packaged
releases and packages that npm fetched. Other processes may work meanwhile: what was
used within the hour stays. What is dropped is asked for or made again when it is needed.

Of images that went to no registry the newest of each repository stays, and so do
those that are the last of a composition.

Besides what --age, --count and --size say, no more is kept than 64 MiB of what is known
of images, 256 MiB of what files hash to, 4 GiB of workspaces and 4 GiB of what npm
fetched, which goes as a whole.

A build that makes something does the same once a day.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if l.age <= 0 || l.count <= 0 || l.size <= 0 {
				return usage(cmd, errors.New("--age, --count and --size take what is more than nothing: `toa cache clear` deletes all"))
			}
			return g.cachePrune(cmd.Context(), l)
		},
	}
	cmd.Flags().DurationVar(&l.age, "age", keepAge, "how long after its last use something is kept")
	cmd.Flags().IntVar(&l.count, "count", keepCount, "how many images of a repository are kept and remembered, and packages of a workspace")
	cmd.Flags().Int64Var(&l.size, "size", keepSize, "how many MiB of layers are kept, and at most of workspaces made of lists and of npm's packages")
	return cmd
}

func (g *globals) cachePrune(ctx context.Context, l limits) error {
	root, err := g.cachePath()
	if err != nil {
		return err
	}
	return l.prune(ctx, root, g.warn, func(part, of string, p cache.Pruned) {
		fmt.Fprintf(g.io.Out, "  %-7s dropped %s, which frees %s; kept %s\n", part, count(p.Dropped, of), mebibytes(p.Freed), count(p.Kept, of))
	})
}

// pruning drops what is too much of one part of the cache.
type pruning struct {
	part, of string
	run      func() (cache.Pruned, error)
}

// prune goes through all parts, whichever of them cannot be pruned, and reports
// what came of each.
func (l limits) prune(ctx context.Context, root string, warn func(string), report func(part, of string, p cache.Pruned)) error {
	var failed []error
	for _, p := range l.prunings(ctx, root, warn) {
		done, err := p.run()
		if err != nil {
			failed = append(failed, err)
			continue
		}
		report(p.part, p.of, done)
	}
	_ = cache.Claims{Dir: filepath.Join(root, claimsDir)}.Sweep(time.Now()) // empty files
	return errors.Join(failed...)
}

func (l limits) prunings(ctx context.Context, root string, warn func(string)) []pruning {
	files, db := databases(root, warn)
	index := cache.NewIndex(db)
	now, size := time.Now(), l.size<<20
	things := func(pattern string, keep cache.Keep) func() (cache.Pruned, error) {
		return func() (cache.Pruned, error) { return cache.PruneThings(root, pattern, keep, now) }
	}
	return []pruning{
		{"db", "record", func() (cache.Pruned, error) { return l.pruneDatabases(index, files, now) }},
		{"blobs", "blob", func() (cache.Pruned, error) { return l.pruneBlobs(root, now) }},
		{imagesDir, "image", func() (cache.Pruned, error) { return l.pruneImages(ctx, root, index, now) }},
		{stagedDir, "workspace", things(stagedDir+"/*", cache.Keep{Age: l.age, Bytes: min(size, stagedSize)})},
		{chartsDir, "package", things(chartsDir+"/*/*", cache.Keep{Age: l.age, Count: l.count, Bytes: size})},
		{npmDir, "cache", things(npmDir, cache.Keep{Age: l.age, Bytes: min(size, npmSize)})},
	}
}

func (l limits) pruneDatabases(index *cache.Index, files *cache.DB, now time.Time) (cache.Pruned, error) {
	done, err := index.Prune(cache.Keep{Age: l.age, Count: l.count, Bytes: indexSize}, now)
	compacted, failed := files.Compact(filesSize, now)
	done.Freed += compacted.Freed
	return done, errors.Join(err, failed)
}

func (l limits) pruneBlobs(root string, now time.Time) (cache.Pruned, error) {
	blobs, err := cache.OpenBlobs(root)
	if err != nil {
		return cache.Pruned{}, err
	}
	return blobs.Prune(cache.Keep{Age: l.age, Bytes: l.size << 20}, now)
}

// pruneImages keeps the images that the index names, however old they are.
func (l limits) pruneImages(ctx context.Context, root string, index *cache.Index, now time.Time) (cache.Pruned, error) {
	known, err := index.Images()
	if err != nil {
		return cache.Pruned{}, fmt.Errorf("prune images: %w", err)
	}
	published := map[string]bool{}
	for _, one := range known {
		if one.Registry == onDisk {
			published[one.Repository+"@"+one.Digest] = true
		}
	}
	layout := &images.Layout{Dir: filepath.Join(root, imagesDir)}
	named := func(r orchestrator.Reference) bool { return published[r.Repository+"@"+r.Digest] }
	return layout.Prune(ctx, cache.Keep{Age: l.age, Count: l.count}, named, now)
}

// tidied is the file whose time says when the cache was pruned last.
const tidied = "pruned"

// tidy prunes once a day, when a run has made something. It costs no run its
// success.
func (s *session) tidy(ctx context.Context, summary orchestrator.Summary) {
	if summary.Built == 0 {
		return
	}
	mark := filepath.Join(s.cache, tidied)
	if info, err := os.Stat(mark); err == nil && time.Since(info.ModTime()).Abs() < 24*time.Hour {
		return
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return // it would be done after every run
	}
	err := limits{keepAge, keepCount, keepSize}.prune(ctx, s.cache, s.warn, func(string, string, cache.Pruned) {})
	if err != nil {
		s.warn(err.Error())
	}
}
