package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"toa.io/toa/cache"
	"toa.io/toa/graph"
	"toa.io/toa/images"
)

func graphAffected(g *globals) *cobra.Command {
	var since string
	var mono bool
	cmd := &cobra.Command{
		Use:   "affected [environment]",
		Short: "List the images whose inputs differ from a git revision",
		Long: `Affected compares the inputs of each image with those that it has in a revision of
git, and prints the IDs of images where they differ, a line each: those that a
build would not find published if that revision was. Packages in node_modules are
taken as they are now.`,
		Example: "  toa graph affected production --since origin/main",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.affected(cmd, environment(g, args), since, mono)
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "the revision: a branch, a tag or a commit")
	cmd.Flags().BoolVar(&mono, "mono", false, monoUsage)
	return cmd
}

func (g *globals) affected(cmd *cobra.Command, environment, since string, mono bool) error {
	if since == "" {
		return usage(cmd, errors.New("--since is missing: it names a branch, a tag or a commit"))
	}
	s, plan, err := g.planned(cmd, environment, "", false, mono)
	if err != nil {
		return err
	}
	defer s.close()
	before, err := s.keysAt(cmd, since, mono)
	if err != nil {
		return err
	}
	for _, step := range plan.Steps {
		if before[step.ID] == step.Key {
			continue
		}
		if _, err := fmt.Fprintln(s.io.Out, step.ID); err != nil {
			return err
		}
	}
	return nil
}

// keysAt are the keys of images as they are in a revision. It is checked out
// beside the workspace, which stays as it is.
func (s *session) keysAt(cmd *cobra.Command, revision string, mono bool) (keys map[graph.ID]cache.Key, err error) {
	dir, err := os.MkdirTemp("", "toa-affected-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root := filepath.Join(dir, "workspace")
	if err := s.checkOut(cmd.Context(), revision, root, filepath.Join(dir, "index")); err != nil {
		return nil, &configurationError{fmt.Errorf("read revision %s: %w", revision, err)}
	}
	beside := &globals{io: s.io, path: root, cacheDir: filepath.Join(dir, "cache")}
	was, plan, err := beside.planned(cmd, s.chain, s.registry, false, mono)
	if err != nil {
		return nil, fmt.Errorf("plan revision %s: %w", revision, err)
	}
	defer was.close()
	keys = map[graph.ID]cache.Key{}
	for _, step := range plan.Steps {
		keys[step.ID] = step.Key
	}
	return keys, nil
}

// checkOut writes the workspace as it is in a revision to another directory, by
// an index of its own: git's is not touched.
func (s *session) checkOut(ctx context.Context, revision, to, index string) error {
	if strings.HasPrefix(revision, "-") {
		return fmt.Errorf("%q is no revision", revision)
	}
	top, err := git(ctx, s.root, "", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	tree, err := git(ctx, s.root, "", "rev-parse", "--verify", "--quiet", revision+":./")
	if err != nil {
		return errors.New("git has none of that name, or the workspace is not in it")
	}
	if _, err := git(ctx, top, index, "read-tree", tree); err != nil {
		return err
	}
	if _, err := git(ctx, top, index, "checkout-index", "--all", "--prefix="+to+"/"); err != nil {
		return err
	}
	modules := filepath.Join(s.root, "node_modules")
	if _, err := os.Stat(modules); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Symlink(modules, filepath.Join(to, "node_modules")); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// git runs git and returns what it says, on a line.
func git(ctx context.Context, dir, index string, args ...string) (string, error) {
	var said, wrong strings.Builder
	env := os.Environ()
	if index != "" {
		env = append(env, "GIT_INDEX_FILE="+index)
	}
	err := images.Command{
		Name: "git", Args: args, Dir: dir, Env: env, Stdout: &said, Fix: "install git",
		Line: func(_, text string) { fmt.Fprintln(&wrong, text) },
	}.Run(ctx)
	if err != nil && wrong.Len() > 0 {
		err = errors.New("git: " + strings.TrimPrefix(strings.TrimSpace(wrong.String()), "fatal: "))
	}
	return strings.TrimSpace(said.String()), err
}
