package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"toa.io/toa/internal/sdk"
)

// secretPrefix begins the names of all secrets that a deployment refers to.
const secretPrefix = "toa-"

type concealFlags struct {
	clusterFlags
	environment string
	interactive bool
}

func concealCommand(g *globals) *cobra.Command {
	f := &concealFlags{}
	cmd := &cobra.Command{
		Use:   "conceal SECRET [KEY=VALUE...]",
		Short: "Put keys into a secret of the cluster",
		Long: `Conceal puts keys into the secret toa-SECRET, which it makes where it is missing.
Other keys of the secret stay.

A value of - is read from standard input, all of it, so that it appears neither in
the list of processes nor in the shell's history. With -i it asks for each key
that the deployment needs of the secret.`,
		Example: `  toa conceal amqp-context.default username=developer password=- < password.txt
  toa conceal configuration -i -e production`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.conceal(cmd, args[0], args[1:], f)
		},
	}
	flags := cmd.Flags()
	addClusterFlags(flags, &f.kubeContext, &f.namespace)
	flags.BoolVarP(&f.interactive, "interactive", "i", false, "ask for each key that the deployment needs of the secret")
	g.addEnvironmentFlag(flags, &f.environment)
	return cmd
}

func (g *globals) conceal(cmd *cobra.Command, secret string, args []string, f *concealFlags) error {
	pairs, err := parsePairs(args, g.io.In)
	if err != nil {
		return usage(cmd, err)
	}
	if len(pairs) == 0 && !f.interactive {
		return usage(cmd, errors.New("nothing to conceal: expected KEY=VALUE, or -i"))
	}
	c, err := g.openAnyCluster(f.environment, f.clusterFlags)
	if err != nil {
		return err
	}
	if f.interactive {
		if err := g.askPairs(cmd.Context(), secret, f.environment, pairs); err != nil {
			return err
		}
	}
	return c.Conceal(cmd.Context(), secret, pairs)
}

// parsePairs reads KEY=VALUE, where a value may hold anything, equals signs too.
// One value may be read from in.
func parsePairs(args []string, in io.Reader) (map[string][]byte, error) {
	pairs := map[string][]byte{}
	read := false
	for i, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if _, twice := pairs[key]; !ok || key == "" || twice {
			// The argument itself may be a value that was meant to be secret.
			return nil, fmt.Errorf("argument %d after the secret: expected KEY=VALUE, each key once", i+1)
		}
		pairs[key] = []byte(value)
		if value != "-" {
			continue
		}
		if read {
			return nil, errors.New("only one value can be read from standard input")
		}
		read = true
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("read value of %s: %w", key, err)
		}
		pairs[key] = data
	}
	return pairs, nil
}

// askPairs asks for the keys of a secret that a deployment needs and that were
// not given.
func (g *globals) askPairs(ctx context.Context, secret, environment string, pairs map[string][]byte) error {
	s, deployment, err := g.declared(ctx, environment, false)
	if err != nil {
		return err
	}
	defer s.close()
	keys := bySecret(deployment.Secrets)[secretPrefix+secret]
	if len(keys) == 0 && len(pairs) == 0 {
		return &configurationError{fmt.Errorf("the deployment refers to no secret %s%s: `toa export secrets` lists those that it does", secretPrefix, secret)}
	}
	asked := newPrompt(g.io)
	for _, k := range keys {
		if _, given := pairs[k.Key]; given {
			continue
		}
		value, err := asked.ask(ctx, secretPrefix+secret+"/"+k.Key)
		if err != nil {
			return err
		}
		if value != "" || !k.Optional {
			pairs[k.Key] = []byte(value)
		}
	}
	return nil
}

func revealCommand(g *globals) *cobra.Command {
	f := &exportFlags{}
	var where clusterFlags
	var environment string
	cmd := &cobra.Command{
		Use:   "reveal SECRET",
		Short: "Print what a secret of the cluster holds",
		Long: `Reveal prints each key of the secret toa-SECRET with its value, as "key: value".
Where there is no such secret it prints nothing.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			c, err := g.openAnyCluster(environment, where)
			if err != nil {
				return err
			}
			return g.reveal(cmd.Context(), c, args[0], f)
		},
	}
	flags := cmd.Flags()
	addClusterFlags(flags, &where.kubeContext, &where.namespace)
	g.addEnvironmentFlag(flags, &environment)
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	return cmd
}

func (g *globals) reveal(ctx context.Context, c *sdk.Cluster, secret string, f *exportFlags) error {
	pairs, err := c.Reveal(ctx, secret)
	if err != nil {
		return err
	}
	if f.output == "json" {
		texts := make(map[string]string, len(pairs))
		for key, value := range pairs {
			texts[key] = string(value)
		}
		return writeJSON(g.io.Out, texts)
	}
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		if _, err := fmt.Fprintf(g.io.Out, "%s: %s\n", key, pairs[key]); err != nil {
			return err
		}
	}
	return nil
}
