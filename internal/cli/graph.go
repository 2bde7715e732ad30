package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"toa.io/toa/images"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
)

func graphCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Build, plan and look at the graph of images",
	}
	cmd.AddCommand(graphBuild(g), graphPlan(g), graphApply(g), graphShow(g), graphWhy(g), graphInputs(g), graphAffected(g))
	return cmd
}

// buildFlags are the flags of `graph build`.
type buildFlags struct {
	registry       string
	builder        string
	builderAddress string
	release        string
	releaseFlags
	verify    string
	jobs      int
	keepGoing bool
	only      []string
	nightlyFlags
	mono      bool
	locked    bool
	indexOnly bool
	output    string
	summary   string
	trace     string
	dryRun    bool
	// local publishes to no registry.
	local bool
	// saved is the plan that must still hold, or nothing is done.
	saved *orchestrator.Saved
}

func graphBuild(g *globals) *cobra.Command {
	f := &buildFlags{}
	cmd := &cobra.Command{
		Use:   "build [environment]",
		Short: "Build what changed, publish it, and finish with one Helm release",
		Long: `Build loads the workspace, hashes every image's inputs, skips what is published
already, builds and publishes the rest in parallel, and finishes with one Helm
release. Nothing is released unless every image is published.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.dryRun {
				return g.plan(cmd, environment(g, args), &planFlags{
					registry: f.registry, rebuild: f.anew(), mono: f.mono, output: planOutput(f.output),
					release: buildFlags{release: f.release, releaseFlags: f.releaseFlags, builder: f.builder, builderAddress: f.builderAddress},
				})
			}
			return g.build(cmd, environment(g, args), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.registry, "registry", "", "publish under this base instead of registry.base")
	f.addRunFlags(flags)
	f.nightlyFlags.add(flags)
	f.releaseFlags.add(flags)
	flags.StringVar(&f.release, "release", "auto", "auto, apply, package or none")
	flags.BoolVar(&f.keepGoing, "keep-going", false, "build what can be built after a failure; nothing is released")
	flags.StringSliceVar(&f.only, "only", nil, "build only these images and what they need; nothing is released")
	flags.BoolVar(&f.mono, "mono", false, monoUsage)
	flags.BoolVar(&f.locked, "locked", false, "fail where toa.lock or a missing lockfile would have to change")
	flags.BoolVar(&f.indexOnly, "index-only", false, "build what the index does not know without asking the registry")
	flags.BoolVar(&f.dryRun, "dry-run", false, "plan only")
	return cmd
}

// addRunFlags adds those that say how a run goes about its work.
func (f *buildFlags) addRunFlags(flags *pflag.FlagSet) {
	f.addBuilderFlags(flags)
	flags.StringVar(&f.verify, "verify", "release", "which published images to check with the registry: release, never, always, older:DURATION or sample:N%")
	flags.IntVarP(&f.jobs, "jobs", "j", 0, "how many images to build at a time (default 4)")
	flags.StringVar(&f.output, "output", "auto", "auto, tty, plain or json")
	flags.StringVar(&f.summary, "summary", "", "append a Markdown summary to this file (GITHUB_STEP_SUMMARY is honoured)")
	flags.StringVar(&f.trace, "trace", "", "write a trace of the run to this file (Chrome trace format)")
}

// environment is the argument of a command, or TOA_ENV.
func environment(g *globals, args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return g.io.Env("TOA_ENV")
}

// addEnvironmentFlag is for commands whose arguments are something else.
func (g *globals) addEnvironmentFlag(flags *pflag.FlagSet, environment *string) {
	flags.StringVarP(environment, "environment", "e", g.io.Env("TOA_ENV"), "the environment, as for deploy")
}

type planFlags struct {
	registry string
	rebuild  bool
	mono     bool
	check    bool
	matrix   int
	output   string
	// diff shows what the release would change, save writes the plan to a file;
	// both ask the cluster where one is named.
	diff bool
	save string
	// release says where the release would go, and what builds.
	release buildFlags
}

func planOutput(output string) string {
	if output == "json" {
		return output
	}
	return "text"
}

func graphPlan(g *globals) *cobra.Command {
	f := &planFlags{}
	cmd := &cobra.Command{
		Use:   "plan [environment]",
		Short: "Say what build would do and why, offline, changing nothing",
		Long: `Plan says which images build would build and why. It sends nothing, unless machines
share an index (cache.shared) and that of this one misses an image: then it asks what
others have published, in three requests at most.

With --diff it also says what the release would change, object by object: against
what is deployed where a cluster is named, else against the last package. With
--out it saves all that, and ` + "`toa graph apply`" + ` carries out just that. Where a
cluster is named, both ask it what is deployed.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.plan(cmd, environment(g, args), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.registry, "registry", "", "plan for this base instead of registry.base")
	flags.BoolVar(&f.rebuild, "rebuild", false, "plan to build every image")
	flags.BoolVar(&f.check, "check", false, "exit with 3 when something would be built")
	flags.IntVar(&f.matrix, "matrix", 0, "share what would be built out among N machines, as a matrix for GitHub and for --shards")
	flags.BoolVar(&f.mono, "mono", false, monoUsage)
	flags.StringVar(&f.output, "output", "text", "text or json")
	flags.BoolVar(&f.diff, "diff", false, "show what the release would change, object by object")
	flags.StringVarP(&f.save, "out", "o", "", "save the plan to this file, for `toa graph apply`")
	flags.StringVar(&f.release.release, "release", releaseAuto, "auto, apply, package or none")
	addClusterFlags(flags, &f.release.kubeContext, &f.release.namespace)
	f.release.addBuilderFlags(flags)
	return cmd
}

func (g *globals) plan(cmd *cobra.Command, environment string, f *planFlags) error {
	if err := oneOf(cmd, "output", f.output, "text", "json"); err != nil {
		return err
	}
	if f.matrix < 0 || f.matrix > orchestrator.MaxShards {
		return usage(cmd, fmt.Errorf("--matrix takes 1 to %d machines, not %d", orchestrator.MaxShards, f.matrix))
	}
	if err := f.release.checkBuilder(cmd); err != nil {
		return err
	}
	s, plan, err := g.planned(cmd, environment, f.registry, f.rebuild, f.mono)
	if err != nil {
		return err
	}
	defer s.close()
	if f.matrix > 0 {
		return s.writeMatrix(g.io.Out, plan, f.matrix)
	}
	s.engines(&f.release, &images.Native{}, nil).explain(plan)
	changes, err := s.foresee(cmd, plan, f)
	if err != nil {
		return err
	}
	if err := f.write(g.io.Out, plan, changes); err != nil {
		return err
	}
	if f.check && plan.Changes() {
		return &exitError{exitWouldChange}
	}
	return nil
}

func (f *planFlags) write(out io.Writer, plan *orchestrator.Plan, changes *ui.Changes) error {
	if f.output == "json" {
		return ui.WritePlanJSON(out, plan, changes)
	}
	if err := ui.WritePlan(out, plan); err != nil || changes == nil {
		return err
	}
	return ui.WriteChanges(out, *changes)
}

// planned opens a session and plans. The caller closes the session.
func (g *globals) planned(cmd *cobra.Command, environment, registry string, rebuild, mono bool) (*session, *orchestrator.Plan, error) {
	s, err := g.openPlanned(cmd.Context(), environment, registry, mono)
	if err != nil {
		return nil, nil, err
	}
	s.notices()
	plan, err := s.planShared(cmd.Context(), rebuild)
	if err != nil {
		s.close()
		return nil, nil, err
	}
	return s, plan, nil
}

// planShared plans with what other machines have published.
func (s *session) planShared(ctx context.Context, rebuild bool) (*orchestrator.Plan, error) {
	if err := s.shareReading(); err != nil {
		return nil, err
	}
	planner := s.planner()
	planner.Rebuild = rebuild
	return planner.Plan(ctx)
}

func graphShow(g *globals) *cobra.Command {
	var registry, format string
	var mono bool
	cmd := &cobra.Command{
		Use:   "show [environment]",
		Short: "Show the graph of components and images",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, plan, err := g.planned(cmd, environment(g, args), registry, false, mono)
			if err != nil {
				return err
			}
			defer s.close()
			return ui.Show(g.io.Out, plan, format)
		},
	}
	cmd.Flags().StringVar(&registry, "registry", "", "show references under this base instead of registry.base")
	cmd.Flags().BoolVar(&mono, "mono", false, monoUsage)
	cmd.Flags().StringVar(&format, "format", "tree", "tree, json, dot, mermaid or html")
	return cmd
}
