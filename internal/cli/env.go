package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"toa.io/toa/extensions"
)

// localEnvironment is the one that people develop in.
const localEnvironment = "local"

type envFlags struct {
	as          string
	dev         bool
	interactive bool
	components  []string
	services    []string
}

func envCommand(g *globals) *cobra.Command {
	f := &envFlags{}
	cmd := &cobra.Command{
		Use:   "env [environment]",
		Short: "Write the variables of components and services to a .env file",
		Long: `Env writes what components and services are told into a file beside the
context, for running them on this machine. Values of secrets are left empty, to
be filled in. What is filled in already is kept, and taken for all variables of
the same secret; everything else is written anew.

Evicted components run nowhere, but may be named with -c to run one here.

The environment is "local" if none is named.`,
		Example: `  toa env --dev
  toa env staging --as .env.staging -i
  toa env -c store.orders -s exposition`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.env(cmd.Context(), developed(args), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.as, "as", ".env", "the file to write, relative to the context")
	flags.BoolVarP(&f.dev, "dev", "d", false, "fill in developer and secret for brokers and databases, new keys for identity tokens, and variables of this process for other secrets, by key")
	flags.BoolVarP(&f.interactive, "interactive", "i", false, "ask for secrets that are not filled in")
	flags.StringArrayVarP(&f.components, "component", "c", nil, "write what this component is told and no other; may be repeated")
	flags.StringArrayVarP(&f.services, "service", "s", nil, "write what this service is told and no other; may be repeated")
	return cmd
}

// developed is the environment that a command for developers is given.
func developed(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return localEnvironment
}

func (g *globals) env(ctx context.Context, environment string, f *envFlags) error {
	s, deployment, err := g.declared(ctx, environment, false)
	if err != nil {
		return err
	}
	defer s.close()
	if revived := among(s.workspace.Context.Evicted.Components, f.components); len(revived) > 0 {
		// To run here what runs nowhere else, all that it would be told has to be known.
		if deployment, err = s.ask(ctx, extensions.Options{Revived: revived}); err != nil {
			return err
		}
	}
	variables, err := choice{deployment}.variables(f.components, f.services)
	if err != nil {
		return err
	}
	file := s.beside(f.as)
	kept, err := readEnv(file, f.as)
	if err != nil {
		return err
	}
	entries, err := g.filling(kept, f, extensions.TokenKeys(s.workspace.Context)).entries(ctx, variables)
	if err != nil {
		return err
	}
	data, err := encodeEnv(entries)
	if err != nil {
		return err
	}
	if err := replaceBytes(file, 0o600, data); err != nil {
		return fmt.Errorf("write %s: %w", f.as, err)
	}
	g.tellEmpty(f.as, variables, entries)
	return nil
}

// declared opens a session and finds out what the workspace needs of a
// deployment. The caller closes the session.
func (g *globals) declared(ctx context.Context, environment string, mono bool) (*session, *extensions.Deployment, error) {
	s, err := g.open(environment)
	if err != nil {
		return nil, nil, err
	}
	s.notices()
	s.mono = mono
	d, err := s.declare(ctx)
	if err != nil {
		s.close()
		return nil, nil, err
	}
	return s, d, nil
}

// beside is where a file is that was named relative to the context.
func (s *session) beside(file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(s.root, file)
}

// readEnv reads what is filled in; nothing where there is no file yet.
func readEnv(file, shown string) (map[string]string, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &configurationError{err}
	}
	return parseEnv(shown, string(data))
}

// tellEmpty names the secrets that have yet to be filled in.
func (g *globals) tellEmpty(file string, variables []extensions.Variable, entries []entry) {
	var empty []string
	for i, v := range variables {
		if v.Secret == nil || v.Secret.Optional || entries[i].value != "" {
			continue
		}
		if name := v.Secret.Name + "/" + v.Secret.Key; !slices.Contains(empty, name) {
			empty = append(empty, name)
		}
	}
	if len(empty) > 0 {
		g.warn(fmt.Sprintf("%s has %s to be filled in: %s", file, count(len(empty), "secret"), strings.Join(empty, ", ")))
	}
}
