package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"toa.io/toa/extensions"
	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
)

// chartFlags are those of `export chart`.
type chartFlags struct {
	references, registry string
	mono                 bool
}

func exportChart(g *globals) *cobra.Command {
	f := &chartFlags{}
	cmd := &cobra.Command{
		Use:   "chart ENVIRONMENT FILE",
		Short: "Write the package of the Helm chart",
		Long: `Chart writes the .tgz that a release would be made with. Images stand in it by
digest. Digests are those of images that are known to be published here or, with
--references, those of a list that ` + "`toa push`" + ` or ` + "`toa graph build`" + ` printed elsewhere.
Such a list is refused where it tells of other images than the workspace makes.
Nothing is asked for.`,
		Example: `  toa push production > references.txt
  toa export chart production shop.tgz --references references.txt`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, plan, err := g.planned(cmd, args[0], f.registry, false, f.mono)
			if err != nil {
				return err
			}
			defer s.close()
			return s.exportChart(cmd, plan, args[1], f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.references, "references", "", "a file with a line `ID REFERENCE` for each image, as toa push prints them")
	flags.StringVar(&f.registry, "registry", "", "take images under this base instead of registry.base")
	flags.BoolVar(&f.mono, "mono", false, monoUsage)
	return cmd
}

func (s *session) exportChart(cmd *cobra.Command, plan *orchestrator.Plan, path string, f *chartFlags) error {
	deployment, err := s.declareChart(cmd.Context())
	if err != nil {
		return err
	}
	pinned, err := s.pinned(plan, deployment, f.references)
	if err != nil {
		return err
	}
	made, err := s.chart(pinned, plan.Versions)
	if err != nil {
		return err
	}
	data, err := release.Pack(made)
	if err != nil {
		return fmt.Errorf("pack chart: %w", err)
	}
	target, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := replaceBytes(target, 0o644, data); err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	return nil
}

// pinned are the references of all units, with digests: those of the index, or
// those of a list.
func (s *session) pinned(plan *orchestrator.Plan, d *extensions.Deployment, list string) (map[graph.ID]orchestrator.Reference, error) {
	all, missing := references(plan, d)
	if list != "" {
		return all, takeDigests(plan, all, list)
	}
	if len(missing) > 0 {
		return nil, &unpublishedError{images: missing, environment: s.chain}
	}
	return all, nil
}

// takeDigests completes references by those in a file, which must be the same
// but for the digest. Images that others publish have theirs from toa.lock.
func takeDigests(plan *orchestrator.Plan, all map[graph.ID]orchestrator.Reference, path string) error {
	stated, err := readReferences(path)
	if err != nil {
		return &configurationError{err}
	}
	stale := &staleReferencesError{path: path}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if _, made := plan.Step(id); !made {
			continue
		}
		expected := all[id]
		expected.Digest = stated[id].Digest
		if expected.Digest == "" || stated[id] != expected {
			stale.images = append(stale.images, id)
		}
		all[id] = expected
	}
	if len(stale.images) > 0 {
		return stale
	}
	return nil
}

// staleReferencesError is a list of references that is not of the images that
// the workspace makes.
type staleReferencesError struct {
	path   string
	images []graph.ID
}

func (e *staleReferencesError) Error() string {
	return e.path + " is not of this workspace as it stands: it has no digest, or that of other inputs or another repository, for " + listed(e.images)
}

// Hint says how to make it anew.
func (e *staleReferencesError) Hint() string {
	return "publish, and save what is printed: toa push > " + e.path
}

// Mistake is true: it is found before anything is touched.
func (*staleReferencesError) Mistake() bool { return true }

// readReferences reads lines "ID REFERENCE".
func readReferences(path string) (map[graph.ID]orchestrator.Reference, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read references: %w", err)
	}
	references, err := parseReferences(string(data))
	if err != nil {
		return nil, fmt.Errorf("read references: %s:%w", path, err)
	}
	return references, nil
}

func parseReferences(text string) (map[graph.ID]orchestrator.Reference, error) {
	references := map[graph.ID]orchestrator.Reference{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("%d: expected `ID REFERENCE`, found %q", number, strings.TrimSpace(line))
		}
		reference, err := orchestrator.ParseReference(fields[1])
		if err != nil {
			return nil, fmt.Errorf("%d: %w", number, err)
		}
		references[graph.ID(fields[0])] = reference
	}
	return references, nil
}
