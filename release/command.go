package release

import (
	"strconv"
	"strings"

	"toa.io/toa/internal/lazyregexp"
	"toa.io/toa/workspace"
)

// command is the command line, for a POSIX shell, that applies a chart.
func command(name, path string, s workspace.Release) string {
	args := []string{"helm", "upgrade", "--install", name, path}
	if s.Namespace != "" {
		args = append(args, "--namespace", s.Namespace, "--create-namespace")
	}
	if s.Context != "" {
		args = append(args, "--kube-context", s.Context)
	}
	if s.Wait {
		args = append(args, "--wait")
	}
	if s.Timeout > 0 {
		args = append(args, "--timeout", s.Timeout.String())
	}
	if s.Atomic {
		args = append(args, "--atomic")
	}
	if s.History > 0 {
		args = append(args, "--history-max", strconv.Itoa(s.History))
	}
	for i, arg := range args {
		args[i] = shell(arg)
	}
	return strings.Join(args, " ")
}

// plain is what means itself in every shell.
var plain = lazyregexp.New(`^[\w%+,./:=@-]+$`)

// shell quotes an argument where it must be.
func shell(arg string) string {
	if plain.MatchString(arg) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
