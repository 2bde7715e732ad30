// Package cli is the command line: it wires the rooms together, and it is the
// only place that turns errors into messages, hints and exit codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"toa.io/toa/internal/sdk"
)

// Exit codes (spec cli.md).
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2 // usage or configuration; nothing was touched
	exitWouldChange = 3 // with --check
	exitSignal      = 128
)

// IO is what a command reads and writes.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	Env      func(string) string
}

// Interrupt is the cause of a context that a signal cancelled.
type Interrupt syscall.Signal

func (i Interrupt) Error() string { return "stopped by " + syscall.Signal(i).String() }

// Run runs one command line and returns its exit code.
func Run(ctx context.Context, args []string, stdio IO) int {
	root := newRoot(stdio)
	root.SetArgs(args)
	err := sdk.Elsewhere(root.ExecuteContext(ctx))
	if err == nil {
		return exitDone
	}
	return report(ctx, stdio.Err, err)
}

func newRoot(stdio IO) *cobra.Command {
	root := &cobra.Command{
		Use:           "toa",
		Short:         "From a monorepo to a release",
		Long:          "toa builds what changed in a workspace, publishes it, and finishes with one Helm release.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(stdio.In)
	root.SetOut(stdio.Out)
	root.SetErr(stdio.Err)
	root.SetFlagErrorFunc(usage)
	root.CompletionOptions.HiddenDefaultCmd = false
	global := &globals{io: stdio}
	flags := root.PersistentFlags()
	flags.StringVarP(&global.path, "path", "C", "", "start here and walk up to context.toa.yaml (default: the current directory)")
	flags.StringVar(&global.cacheDir, "cache-dir", "", "where to keep what is known and built (default: TOA_CACHE_DIR, or the user cache directory)")
	flags.StringVar(&global.sources, "sources", "", "make the workspace of the files in this list, which Bazel rules write, and start there")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return global.begin(cmd) }
	root.AddCommand(graphCommand(global), lockCommand(global), cacheCommand(global), registryCommand(global), imagesCommand(global), versionCommand(global), doctorCommand(global),
		envCommand(global), mapCommand(global), exportCommand(global), schemaCommand(global), checkCommand(global), pushCommand(global), buildCommand(global),
		full(deployCommand(global)), full(statusCommand(global)), full(rollbackCommand(global)),
		full(concealCommand(global)), full(revealCommand(global)), full(releaseWorkerCommand(global)))
	checkArguments(root)
	return root
}

// checkArguments makes wrong arguments of every command usage errors, and a
// group that is given no known command one too.
func checkArguments(cmd *cobra.Command) {
	for _, child := range cmd.Commands() {
		checkArguments(child)
	}
	if cmd.HasSubCommands() && cmd.RunE == nil {
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usage(cmd, fmt.Errorf("unknown command %q", args[0]))
		}
		return
	}
	validate := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if validate == nil {
			return nil
		}
		return usage(cmd, validate(cmd, args))
	}
}

// usageError is a command line that cannot be understood.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// Hint says where the right usage stands.
func (e *usageError) Hint() string { return e.hint }

// Mistake is true: it is found before anything is touched.
func (*usageError) Mistake() bool { return true }

func usage(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err: err, hint: "see `" + cmd.CommandPath() + " --help`"}
}

// oneOf refuses the value of a flag where it is none of those there are.
func oneOf(cmd *cobra.Command, what, value string, all ...string) error {
	if slices.Contains(all, value) {
		return nil
	}
	last := len(all) - 1
	return usage(cmd, fmt.Errorf("unknown %s %q: use %s or %s", what, value, strings.Join(all[:last], ", "), all[last]))
}

// exitError ends a command whose outcome was shown already.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// report prints an error, its hint, and returns the exit code that it means.
func report(ctx context.Context, w io.Writer, err error) int {
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	var stopped Interrupt
	if errors.As(context.Cause(ctx), &stopped) {
		fmt.Fprintf(w, "toa: %s\n", stopped)
		return exitSignal + int(stopped)
	}
	writeError(w, err)
	if isMistake(err) {
		return exitUsage
	}
	return exitFailed
}
