package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"toa.io/toa/internal/sdk"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
)

func rollbackCommand(g *globals) *cobra.Command {
	f := &buildFlags{release: releaseApply}
	var environment string
	cmd := &cobra.Command{
		Use:   "rollback [revision]",
		Short: "Make an earlier revision of the release again",
		Long: `Rollback makes the revision that was deployed before the one that is, or the one
that is named, again as a new revision. Images stay where they are: nothing is
built. ` + "`toa status`" + ` lists revisions.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			revision, err := parseRevision(args)
			if err != nil {
				return usage(cmd, err)
			}
			if err := f.checkRelease(cmd); err != nil {
				return err
			}
			return g.rollback(cmd, environment, revision, f)
		},
	}
	flags := cmd.Flags()
	g.addEnvironmentFlag(flags, &environment)
	addClusterFlags(flags, &f.kubeContext, &f.namespace)
	flags.BoolVarP(&f.wait, "wait", "w", false, "the release is done when its pods are ready and the old ones are gone")
	flags.DurationVarP(&f.timeout, "timeout", "t", 0, "how long it may take, for instance 10m (default: release.timeout, or 5m)")
	flags.StringVar(&f.output, "output", "auto", "auto, tty, plain or json")
	return cmd
}

// previous is the revision that was deployed before the one that is.
const previous = -1

func parseRevision(args []string) (int, error) {
	if len(args) == 0 {
		return previous, nil
	}
	revision, err := strconv.Atoi(args[0])
	if err != nil || revision < 1 {
		return 0, fmt.Errorf("%q is no revision: expected a number from 1", args[0])
	}
	return revision, nil
}

func (g *globals) rollback(cmd *cobra.Command, environment string, revision int, f *buildFlags) error {
	settings, target, err := g.destination(environment, f.releaseFlags)
	if err != nil {
		return err
	}
	if _, err := sdk.Open(target); err != nil {
		return err // nothing is asked by that: the settings lead nowhere
	}
	return g.show(f, func(sink ui.Sink) (orchestrator.Summary, error) {
		releaser := &sdk.Releaser{Target: target, Settings: settings, Observe: sink.Observe}
		made, err := releaser.Rollback(cmd.Context(), revision)
		if err != nil {
			made.Status = orchestrator.ReleaseFailed
		}
		summary := orchestrator.Summary{OK: err == nil, Err: err, Release: made}
		sink.Observe(orchestrator.ReleaseEvent{Release: made})
		sink.Observe(orchestrator.SummaryEvent{Summary: summary})
		return summary, nil
	})
}
