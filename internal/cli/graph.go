package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
)

func graphCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Build, plan and look at the graph of images",
	}
	cmd.AddCommand(graphBuild(g), graphPlan(g), graphShow(g), graphWhy(g), graphInputs(g))
	return cmd
}

// buildFlags are the flags of `graph build`.
type buildFlags struct {
	registry       string
	builder        string
	builderAddress string
	release        string
	kubeContext    string
	namespace      string
	wait           bool
	timeout        time.Duration
	atomic         bool
	verify         string
	jobs           int
	keepGoing      bool
	only           []string
	rebuild        bool
	mono           bool
	locked         bool
	indexOnly      bool
	output         string
	summary        string
	trace          string
	dryRun         bool
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
				return g.plan(cmd, environment(g, args), &planFlags{registry: f.registry, rebuild: f.rebuild, mono: f.mono, output: planOutput(f.output)})
			}
			return g.build(cmd, environment(g, args), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.registry, "registry", "", "publish under this base instead of registry.base")
	flags.StringVar(&f.builder, "builder", "", "auto, native, buildkit or docker (default: builder.kind, or auto)")
	flags.StringVar(&f.builderAddress, "builder-address", "", "address of the engine (default: builder.address)")
	flags.StringVar(&f.release, "release", "auto", "auto, apply, package or none")
	flags.StringVar(&f.kubeContext, "kube-context", "", "kubeconfig context of the cluster (default: release.context)")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the release (default: release.namespace)")
	flags.BoolVarP(&f.wait, "wait", "w", false, "the release is done when its pods are ready")
	flags.DurationVarP(&f.timeout, "timeout", "t", 0, "how long a release may take, for instance 10m")
	flags.BoolVar(&f.atomic, "atomic", false, "roll a failed release back")
	flags.StringVar(&f.verify, "verify", "release", "which published images to check with the registry: release, never, always, older:DURATION or sample:N%")
	flags.IntVarP(&f.jobs, "jobs", "j", 0, "how many images to build at a time (default 4)")
	flags.BoolVar(&f.keepGoing, "keep-going", false, "build what can be built after a failure; nothing is released")
	flags.StringSliceVar(&f.only, "only", nil, "build only these images and what they need; nothing is released")
	flags.BoolVar(&f.rebuild, "rebuild", false, "build every image, whatever is published")
	flags.BoolVar(&f.mono, "mono", false, monoUsage)
	flags.BoolVar(&f.locked, "locked", false, "fail where toa.lock or a missing lockfile would have to change")
	flags.BoolVar(&f.indexOnly, "index-only", false, "build what the index does not know without asking the registry")
	flags.StringVar(&f.output, "output", "auto", "auto, tty, plain or json")
	flags.StringVar(&f.summary, "summary", "", "append a Markdown summary to this file (GITHUB_STEP_SUMMARY is honoured)")
	flags.StringVar(&f.trace, "trace", "", "write a trace of the run to this file (Chrome trace format)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "plan only")
	return cmd
}

// environment is the argument of a command, or TOA_ENV.
func environment(g *globals, args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return g.io.Env("TOA_ENV")
}

type planFlags struct {
	registry string
	rebuild  bool
	mono     bool
	check    bool
	output   string
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
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.plan(cmd, environment(g, args), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.registry, "registry", "", "plan for this base instead of registry.base")
	flags.BoolVar(&f.rebuild, "rebuild", false, "plan to build every image")
	flags.BoolVar(&f.check, "check", false, "exit with 3 when something would be built")
	flags.BoolVar(&f.mono, "mono", false, monoUsage)
	flags.StringVar(&f.output, "output", "text", "text or json")
	return cmd
}

func (g *globals) plan(cmd *cobra.Command, environment string, f *planFlags) error {
	write := ui.WritePlan
	switch f.output {
	case "text":
	case "json":
		write = ui.WritePlanJSON
	default:
		return usage(cmd, fmt.Errorf("unknown output %q: use text or json", f.output))
	}
	s, plan, err := g.planned(cmd, environment, f.registry, f.rebuild, f.mono)
	if err != nil {
		return err
	}
	defer s.close()
	if err := write(g.io.Out, plan); err != nil {
		return err
	}
	if f.check && plan.Changes() {
		return &exitError{exitWouldChange}
	}
	return nil
}

// planned opens a session and plans. The caller closes the session.
func (g *globals) planned(cmd *cobra.Command, environment, registry string, rebuild, mono bool) (*session, *orchestrator.Plan, error) {
	s, err := g.openPlanned(cmd.Context(), environment, registry, mono)
	if err != nil {
		return nil, nil, err
	}
	s.notices()
	planner := s.planner()
	planner.Rebuild = rebuild
	plan, err := planner.Plan(cmd.Context())
	if err != nil {
		s.close()
		return nil, nil, err
	}
	return s, plan, nil
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

var errNoHistory = errors.New("nothing is known of an earlier publication on this machine")
