package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
)

// addReferenceFlags adds those of commands that the reference system has too.
func (f *buildFlags) addReferenceFlags(flags *pflag.FlagSet) {
	f.addRunFlags(flags)
	flags.BoolVar(&f.mono, "mono", false, monoUsage)
	flags.BoolVar(&f.keepGoing, "keep-going", false, "build what can be built after a failure")
	flags.BoolVar(&f.locked, "locked", false, "fail where toa.lock or a missing lockfile would have to change")
}

func pushCommand(g *globals) *cobra.Command {
	f := &buildFlags{release: releaseNone}
	cmd := &cobra.Command{
		Use:   "push [environment]",
		Short: "Build what changed and publish it; nothing is released",
		Long:  "Push is `toa graph build --release none` by the name that it had before.",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.build(cmd, environment(g, args), f)
		},
	}
	cmd.Flags().StringVar(&f.registry, "registry", "", "publish under this base instead of registry.base")
	f.addReferenceFlags(cmd.Flags())
	return cmd
}

func buildCommand(g *globals) *cobra.Command {
	f := &buildFlags{release: releaseNone, local: true}
	cmd := &cobra.Command{
		Use:   "build [environment]",
		Short: "Build what changed for this machine: into Docker, or on disk where none answers",
		Long: `Build makes the images under the references that they would be published with, and
publishes none. They stay on disk, where ` + "`toa images`" + ` lists and exports them, and are
loaded into Docker where one answers.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.build(cmd, environment(g, args), f)
		},
	}
	f.addReferenceFlags(cmd.Flags())
	return cmd
}

// published is the index of what is published: to registries, or on disk only.
func (s *session) published(local bool) orchestrator.Index {
	if local {
		return localIndex{s.index}
	}
	return s.index
}

// localIndex is the index of what is on disk, whatever registry its references
// name: what was built for this machine is not published.
type localIndex struct{ *cache.Index }

const onDisk = orchestrator.LayoutRegistry

// Get implements orchestrator.Index.
func (l localIndex) Get(_, repository string, key cache.Key) (cache.Entry, error) {
	return l.Index.Get(onDisk, repository, key)
}

// Fresh implements orchestrator.Index.
func (l localIndex) Fresh(_, repository string, key cache.Key) (cache.Entry, error) {
	return l.Index.Fresh(onDisk, repository, key)
}

// Latest implements orchestrator.Index.
func (l localIndex) Latest(_, repository, target string) (cache.Key, error) {
	return l.Index.Latest(onDisk, repository, target)
}

// InputsOf implements orchestrator.Index.
func (l localIndex) InputsOf(_ string, of []cache.Published) [][]cache.Input {
	return l.Index.InputsOf(onDisk, of)
}

// Put implements orchestrator.Index.
func (l localIndex) Put(_, repository string, key cache.Key, e cache.Entry, target string, inputs []cache.Input) error {
	return l.Index.Put(onDisk, repository, key, e, target, inputs)
}

// Forget implements orchestrator.Index.
func (l localIndex) Forget(_, repository string, key cache.Key) {
	l.Index.Forget(onDisk, repository, key)
}
