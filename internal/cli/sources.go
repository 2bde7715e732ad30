package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bazelbuild/rules_go/go/runfiles"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/internal/sources"
	"toa.io/toa/orchestrator"
)

// stagedDir is where workspaces that were made of lists are, below the cache.
const stagedDir = "staged"

// staged is a workspace that was made of a list.
type staged struct {
	list sources.List
	// lock keeps other processes out of the directory.
	lock *os.File
}

// release lets other processes in again.
func (s *staged) release() {
	if s != nil {
		_ = s.lock.Close()
	}
}

// stage makes the workspace of --sources, and starts there. The same list has
// the same directory in every run: what is equal is neither copied nor hashed again.
func (g *globals) stage(cmd *cobra.Command) error {
	if g.sources == "" {
		return nil
	}
	if g.path != "" {
		return usage(cmd, errors.New("--sources makes a workspace and --path names one: state one of them"))
	}
	list, place, err := g.readSources()
	if err != nil {
		return err
	}
	locate, err := locator(list)
	if err != nil {
		return &configurationError{err}
	}
	lock, err := g.alone(cmd.Context(), place+cache.LockSuffix)
	if err != nil {
		return err
	}
	g.staged, g.path = &staged{list, lock}, place
	if err := list.Stage(place, locate); err != nil {
		g.staged.release()
		return err
	}
	return nil
}

// readSources reads the list, and says where its workspace is to be.
func (g *globals) readSources() (list sources.List, place string, err error) {
	data, err := os.ReadFile(g.sources)
	if err != nil {
		return list, "", &configurationError{fmt.Errorf("read sources: %w", err)}
	}
	if list, err = sources.Parse(data); err != nil {
		return list, "", err
	}
	path, err := filepath.Abs(g.sources)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return list, "", fmt.Errorf("read sources: %w", err)
	}
	cacheDir, err := g.cachePath()
	return list, filepath.Join(cacheDir, stagedDir, cache.Digest([]byte(path)).Tag()), err
}

// locator finds the files of a list: among the runfiles of this process, or
// from the working directory on.
func locator(list sources.List) (sources.Locate, error) {
	if !list.Runfiles {
		return func(from string) (string, error) { return from, nil }, nil
	}
	found, err := runfiles.New(runfiles.SourceRepo(""))
	if err != nil {
		return nil, fmt.Errorf("find runfiles: %w", err)
	}
	return found.Rlocation, nil
}

// alone takes the lock of a file, however long another process has it.
func (g *globals) alone(ctx context.Context, path string) (*os.File, error) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for told := false; ; told = true {
		file, err := cache.TryLock(path)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !told {
			g.warn("waiting for another process that works on this workspace")
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// useImages takes the images that came with the list.
func (s *session) useImages(ctx context.Context) error {
	if s.staged == nil {
		return nil
	}
	if err := s.finish(); err != nil {
		return err
	}
	return s.pinLayouts(ctx)
}

// finish marks the compositions whose images came with the list.
func (s *session) finish() error {
	for _, e := range s.staged.list.Entries {
		if e.Kind != sources.Finished {
			continue
		}
		at := slices.IndexFunc(s.units, func(u orchestrator.Unit) bool {
			return u.ID.Kind() == orchestrator.KindComposition && strings.EqualFold(u.ID.Name(), e.Composition)
		})
		if at < 0 {
			return &sources.Error{Path: e.Composition, Msg: "is finished and is no composition", Fix: "state its name in context.toa.yaml; `toa graph show` lists all"}
		}
		digest, err := images.FinishedDigest(filepath.Join(s.root, e.Path))
		if err != nil {
			return fmt.Errorf("image of %s: %w", e.Composition, err)
		}
		s.units[at].Finished = images.LayoutScheme + e.Path + "@" + digest
	}
	return nil
}

// finished takes finished images as they are, if the list has some.
func (s *session) finished(builder orchestrator.Builder) orchestrator.Builder {
	if s.staged == nil {
		return builder
	}
	return &images.Finished{Root: s.root, Builder: builder}
}

// pinLayouts pins base images that came with the list to what they are. They
// are inputs like files, so toa.lock, which is for what others may move, does
// not name them.
func (s *session) pinLayouts(ctx context.Context) error {
	given := map[string]bool{}
	for _, e := range s.staged.list.Entries {
		given[e.Path] = e.Kind == sources.Layout
	}
	bases := slices.DeleteFunc(s.planner().Pins(), func(p orchestrator.Pin) bool {
		dir, _, ok := images.LayoutReference("", p.Reference)
		return !ok || !given[dir]
	})
	pinned, err := s.lookUp(ctx, bases)
	if err != nil {
		return err
	}
	s.lock = pinned
	return nil
}
