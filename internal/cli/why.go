package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"toa.io/toa/cache"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
	"toa.io/toa/workspace"
)

var errNoHistory = errors.New("nothing is known of an earlier publication on this machine")

func graphWhy(g *globals) *cobra.Command {
	var registry, from, to string
	var mono bool
	cmd := &cobra.Command{
		Use:   "why IMAGE [environment]",
		Short: "Say which inputs of an image changed since it was last published",
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, plan, err := g.planned(cmd, environment(g, args[1:]), registry, false, mono)
			if err != nil {
				return err
			}
			defer s.close()
			step, err := plan.Find(args[0])
			if err != nil {
				return err
			}
			return s.why(step, from, to)
		},
	}
	cmd.Flags().StringVar(&registry, "registry", "", "look below this base instead of registry.base")
	cmd.Flags().BoolVar(&mono, "mono", false, monoUsage)
	cmd.Flags().StringVar(&from, "from", "", "compare from this tag (default: the last one published from here)")
	cmd.Flags().StringVar(&to, "to", "", "compare to this tag (default: what stands in the workspace)")
	return cmd
}

// why compares what an image is made of under two tags: the one that was published
// last where from is empty, and the one that stands in the workspace where to is.
func (s *session) why(step orchestrator.Step, from, to string) error {
	before, from, err := s.before(step, from)
	if err != nil {
		return err
	}
	after := orchestrator.Inputs(step)
	if to == "" {
		to = step.Reference.Tag
	} else if after, err = s.inputsOf(step, to); err != nil {
		return err
	}
	changes := orchestrator.Compare(before, after)
	if len(changes) == 0 {
		fmt.Fprintf(s.io.Out, "%s: nothing changed since %s\n", step.ID, from)
		return nil
	}
	fmt.Fprintf(s.io.Out, "%s: %s between %s and %s\n", step.ID, count(len(changes), "change"), from, to)
	for _, change := range changes {
		fmt.Fprintf(s.io.Out, "  %s\n", ui.Escape(change.String()))
	}
	return nil
}

// before are the inputs of a tag, or of what was published last, and its tag.
func (s *session) before(step orchestrator.Step, tag string) ([]cache.Input, string, error) {
	if tag != "" {
		inputs, err := s.inputsOf(step, tag)
		return inputs, tag, err
	}
	host, repository := orchestrator.RegistryHost(s.registry), step.Reference.Repository
	latest, err := s.index.Latest(host, repository, string(step.ID))
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", step.ID, errNoHistory)
	}
	inputs, err := s.index.Inputs(host, repository, latest)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", step.ID, errNoHistory)
	}
	return inputs, orchestrator.TagOf(step.ID, latest), nil
}

// inputsOf finds the inputs of a tag that was published from this machine.
func (s *session) inputsOf(step orchestrator.Step, tag string) ([]cache.Input, error) {
	host, repository := orchestrator.RegistryHost(s.registry), step.Reference.Repository
	inputs, err := s.index.InputsByTag(host, repository, strings.TrimPrefix(tag, orchestrator.DependenciesPrefix))
	if err != nil {
		return nil, fmt.Errorf("tag %s: %w", tag, errNoHistory)
	}
	return inputs, nil
}

func graphInputs(g *globals) *cobra.Command {
	var registry, why, output string
	var mono bool
	cmd := &cobra.Command{
		Use:   "inputs IMAGE [environment]",
		Short: "List every input of an image's key",
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf(cmd, "output", output, "text", "json"); err != nil {
				return err
			}
			s, plan, err := g.planned(cmd, environment(g, args[1:]), registry, false, mono)
			if err != nil {
				return err
			}
			defer s.close()
			step, err := plan.Find(args[0])
			if err != nil {
				return err
			}
			if why != "" {
				return s.explain(step, why)
			}
			return s.inputs(step, output)
		},
	}
	cmd.Flags().StringVar(&registry, "registry", "", "look below this base instead of registry.base")
	cmd.Flags().BoolVar(&mono, "mono", false, monoUsage)
	cmd.Flags().StringVar(&why, "why", "", "name the rule that includes or ignores this path")
	cmd.Flags().StringVar(&output, "output", "text", "text or json")
	return cmd
}

func (s *session) inputs(step orchestrator.Step, output string) error {
	inputs := orchestrator.Inputs(step)
	if output == "json" {
		list := make([]map[string]string, len(inputs))
		for i, input := range inputs {
			list[i] = map[string]string{"input": input.Label, "value": input.Value}
		}
		return json.NewEncoder(s.io.Out).Encode(map[string]any{"image": step.ID, "key": step.Key.String(), "inputs": list})
	}
	for _, input := range inputs {
		if _, err := fmt.Fprintf(s.io.Out, "%s\t%s\n", ui.Escape(input.Label), ui.Escape(input.Value)); err != nil {
			return err
		}
	}
	return nil
}

// explain names the rule that decides about a path, which may be given as
// below the workspace root, below a component, or as the image holds it.
func (s *session) explain(step orchestrator.Step, path string) error {
	for _, source := range step.Sources {
		component := s.component(source.Component)
		for _, prefix := range []string{component.Dir + "/", source.Label + "/"} {
			if rel, ok := strings.CutPrefix(filepath.ToSlash(filepath.Clean(path)), prefix); ok {
				return s.explainIn(component, rel)
			}
		}
	}
	if len(step.Sources) == 1 {
		return s.explainIn(s.component(step.Sources[0].Component), filepath.ToSlash(filepath.Clean(path)))
	}
	return &configurationError{fmt.Errorf("%s is in no component of %s: name it from the workspace root", path, step.ID)}
}

func (s *session) component(id string) *workspace.Component {
	for _, c := range s.workspace.Components {
		if c.ID == id {
			return c
		}
	}
	return nil
}

func (s *session) explainIn(c *workspace.Component, rel string) error {
	rules := s.planner().Rules(c)
	own, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(c.Dir), cache.IgnoreFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	shipped, rule, err := rules.Explain(string(own), rel)
	if err != nil {
		return &configurationError{err}
	}
	verdict := "ignored"
	if shipped {
		verdict = "shipped"
	}
	_, err = fmt.Fprintf(s.io.Out, "%s/%s: %s: %s\n", c.Dir, rel, verdict, rule)
	return err
}
