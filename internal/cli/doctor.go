package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"toa.io/toa/internal/sdk"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
	"toa.io/toa/workspace"
)

func doctorCommand(g *globals) *cobra.Command {
	f := &doctorFlags{}
	cmd := &cobra.Command{
		Use:   "doctor [environment]",
		Short: "Look over all that a run would use here, and say what is missing",
		Long: `Doctor looks at what a build and a release would use on this machine: the
workspace, the cache, npm, the builder, the registry and the cluster. It changes
nothing there, and exits with 1 where something is missing that the workspace
needs. With --offline it sends nothing.`,
		Example: "  toa doctor production",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(cmd, "output", f.output, "text", "json"); err != nil {
				return err
			}
			return g.doctor(cmd.Context(), environment(g, args), f)
		},
	}
	cmd.Flags().BoolVar(&f.offline, "offline", false, "send nothing: neither to the registry, nor to engines, nor to the cluster")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text or json")
	return cmd
}

type doctorFlags struct {
	offline bool
	output  string
}

// Statuses of findings.
const (
	findingOK      = "ok"
	findingNote    = "note"    // worth knowing; nothing has to be done
	findingMissing = "missing" // a run would fail, or take longer than it has to
)

// finding is what was found of one thing.
type finding struct {
	About  string `json:"about"`
	Status string `json:"status"`
	Text   string `json:"text"`
	// Hint is how to mend it.
	Hint string `json:"hint,omitempty"`
}

func fine(text string) finding { return finding{Status: findingOK, Text: text} }

func worthKnowing(text, hint string) finding {
	return finding{Status: findingNote, Text: text, Hint: hint}
}

// missing is a finding of what an error says, with all hints that it has.
func missing(err error) finding {
	var texts, hints []string
	for _, one := range parts(err) {
		texts = append(texts, one.Error())
		if hint := ui.HintOf(one); hint != "" {
			hints = append(hints, hint)
		}
	}
	return finding{Status: findingMissing, Text: strings.Join(texts, "; "), Hint: strings.Join(hints, "; ")}
}

// patience is how long anything that is asked over the network may take.
const patience = 20 * time.Second

// examination is a look at one machine and one workspace.
type examination struct {
	*globals
	offline bool
	// said is what was warned of on the way; of that, what is wrong with the cache
	// is a finding.
	said strings.Builder
	// session is nil where there is no workspace, or one that is wrong; plan is
	// nil where nothing can be planned, and unplanned says why.
	session   *session
	plan      *orchestrator.Plan
	unplanned error
}

func (g *globals) doctor(ctx context.Context, environment string, f *doctorFlags) error {
	quiet := *g
	x := &examination{globals: &quiet, offline: f.offline}
	quiet.io.Err = &x.said
	findings, err := x.examine(ctx, environment)
	if err != nil {
		return err
	}
	sound := true
	for _, one := range findings {
		sound = sound && one.Status != findingMissing
	}
	if f.output == "json" {
		err = writeJSON(g.io.Out, struct {
			OK       bool      `json:"ok"`
			Findings []finding `json:"findings"`
		}{sound, findings})
	} else {
		err = g.printFindings(findings)
	}
	if err == nil && !sound {
		err = &exitError{exitFailed}
	}
	return err
}

func (g *globals) printFindings(findings []finding) error {
	for _, one := range findings {
		line := fmt.Sprintf("%-8s %-10s %s\n", one.Status, one.About, ui.Escape(one.Text))
		if one.Hint != "" {
			line += fmt.Sprintf("%20s%s\n", "", ui.Escape(one.Hint))
		}
		if _, err := fmt.Fprint(g.io.Out, line); err != nil {
			return err
		}
	}
	return nil
}

// examine looks at everything, in an order that stays. An error means that this
// binary cannot.
func (x *examination) examine(ctx context.Context, environment string) ([]finding, error) {
	workspaceFound := x.visit(ctx, environment)
	if x.session != nil {
		defer x.session.close()
		if x.asks() {
			if err := sdk.Needed(); err != nil {
				return nil, err
			}
		}
	}
	findings := []finding{about("toa", x.program()), about("workspace", workspaceFound)}
	if x.session != nil {
		findings = append(findings, about("lock", x.lock()), about("lockfiles", x.lockfiles()))
	}
	findings = append(findings, about("cache", x.cache()))
	if x.session != nil {
		findings = append(findings,
			about("npm", x.npm(ctx)), about("builder", x.builder(ctx)), about("registry", x.registry(ctx)), about("cluster", x.cluster(ctx)))
	}
	return append(findings, about("proxies", x.proxies())), context.Cause(ctx)
}

func about(what string, f finding) finding {
	f.About = what
	return f
}

// visit reads the workspace and plans its images, as a build does.
func (x *examination) visit(ctx context.Context, environment string) finding {
	s, err := x.openPlanned(ctx, environment, "", false)
	if err != nil {
		f := missing(err)
		f.Text, _, _ = strings.Cut(f.Text, "\n")
		var many *workspace.Errors
		if errors.As(err, &many) {
			f.Hint = "run `toa check` to see all mistakes"
		}
		return f
	}
	x.session = s
	x.plan, x.unplanned = s.planner().Plan(ctx)
	text := fmt.Sprintf("%s in %s: %s, %s", s.workspace.Context.Name, s.root, count(len(s.workspace.Components), "component"), count(len(s.workspace.Compositions), "composition"))
	if n := len(s.workspace.Notices); n > 0 {
		return worthKnowing(text, count(n, "notice")+": run `toa check` to see them")
	}
	return fine(text)
}

// asks tells whether something is to be asked that takes the full binary.
func (x *examination) asks() bool {
	return !x.offline && (x.session.workspace.Context.Release.Context != "" || x.engines().usesBuildKit())
}

func (x *examination) program() finding {
	kind := "full"
	if sdk.Needed() != nil {
		kind = "slim: it goes on as " + sdk.FullName + " where a cluster or BuildKit is to be spoken to"
	}
	return fine(fmt.Sprintf("%s, %s (%s, %s/%s)", buildVersion(), kind, runtime.Version(), runtime.GOOS, runtime.GOARCH))
}
