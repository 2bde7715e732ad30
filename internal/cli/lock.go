package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/workspace"
)

func lockCommand(g *globals) *cobra.Command {
	var mono bool
	cmd := &cobra.Command{Use: "lock", Short: "Pin base images in toa.lock"}
	cmd.PersistentFlags().BoolVar(&mono, "mono", false, monoUsage)
	in := func(do func(context.Context, *session) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			s, err := g.openPlanned(cmd.Context(), environment(g, args), "", mono)
			if err != nil {
				return err
			}
			defer s.close()
			return do(cmd.Context(), s)
		}
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "update [environment]",
		Short: "Resolve every base image anew and say what moves",
		Args:  cobra.MaximumNArgs(1),
		RunE:  in(func(ctx context.Context, s *session) error { return s.updateLock(ctx) }),
	}, &cobra.Command{
		Use:   "check [environment]",
		Short: "Exit with 3 when a base image is not pinned",
		Args:  cobra.MaximumNArgs(1),
		RunE:  in(func(_ context.Context, s *session) error { return s.checkLock() }),
	})
	return cmd
}

func (s *session) unpinned() []orchestrator.Pin {
	var missing []orchestrator.Pin
	for _, p := range s.planner().Pins() {
		if _, ok := s.lock.Digest(p.Reference, p.Platform); !ok {
			missing = append(missing, p)
		}
	}
	return missing
}

func (s *session) checkLock() error {
	missing := s.unpinned()
	for _, p := range missing {
		fmt.Fprintf(s.io.Out, "%s %s is not pinned\n", p.Reference, p.Platform)
	}
	if len(missing) > 0 {
		return &exitError{exitWouldChange}
	}
	return nil
}

// updateLock resolves every base of the environment. Bases that only other
// environments use keep their pins.
func (s *session) updateLock(ctx context.Context) error {
	if s.staged != nil {
		return &configurationError{errors.New("a workspace of --sources is a copy, and so is its " + workspace.LockFile + ": run `toa lock update` in the workspace itself")}
	}
	moved, err := s.resolve(ctx, s.planner().Pins())
	if err != nil {
		return err
	}
	if len(moved) == 0 {
		fmt.Fprintf(s.io.Out, "%s is up to date\n", workspace.LockFile)
		return nil
	}
	for _, line := range moved {
		fmt.Fprintln(s.io.Out, line)
	}
	return nil
}

// pinBases pins bases that are used for the first time, and others anew where
// flags say so.
func (s *session) pinBases(ctx context.Context, f *buildFlags) error {
	if err := s.ensureLock(ctx, f.locked); err != nil {
		return err
	}
	return s.pullBases(ctx, f)
}

// ensureLock pins bases that are used for the first time.
func (s *session) ensureLock(ctx context.Context, locked bool) error {
	missing := s.unpinned()
	if len(missing) == 0 {
		return nil
	}
	if locked || s.staged != nil {
		return &orchestrator.UnpinnedError{Reference: missing[0].Reference, Platform: missing[0].Platform}
	}
	moved, err := s.resolve(ctx, missing)
	for _, line := range moved {
		s.notice("pinned in " + workspace.LockFile + ": " + line)
	}
	return err
}

// resolve asks registries for the digests of pins, writes the lock when all
// are known, and says what moved.
func (s *session) resolve(ctx context.Context, pins []orchestrator.Pin) ([]string, error) {
	next, err := s.lookUp(ctx, pins)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, m := range s.lock.Moves(next) {
		lines = append(lines, moveText(m))
	}
	return lines, s.writeLock(next)
}

// lookUp asks registries for the digests of pins: the lock as it would be.
func (s *session) lookUp(ctx context.Context, pins []orchestrator.Pin) (*workspace.Lock, error) {
	next := s.lock.Clone()
	blobs, err := cache.OpenBlobs(s.cache)
	if err != nil {
		return nil, err
	}
	resolver := &images.Resolver{Client: s.client(), Blobs: blobs, Root: s.root}
	for _, p := range pins {
		digest, err := resolver.Resolve(ctx, p.Reference, p.Platform)
		if err != nil {
			return nil, fmt.Errorf("pin %s for %s: %w", p.Reference, p.Platform, err)
		}
		next.Set(p.Reference, p.Platform, digest)
	}
	return next, nil
}

// writeLock puts another lock in the place of this one where they differ.
func (s *session) writeLock(next *workspace.Lock) error {
	if len(s.lock.Moves(next)) == 0 {
		return nil
	}
	if err := replaceBytes(filepath.Join(s.root, workspace.LockFile), 0o644, next.Encode()); err != nil {
		return fmt.Errorf("write %s: %w", workspace.LockFile, err)
	}
	s.lock = next
	return nil
}

func moveText(m workspace.Move) string {
	if m.From == "" {
		return fmt.Sprintf("%s %s is %s", m.Reference, m.Platform, m.To)
	}
	return fmt.Sprintf("%s %s moved from %s to %s", m.Reference, m.Platform, m.From, m.To)
}
