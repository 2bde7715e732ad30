package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

// The workflows that people copy are right by actionlint, and every command of
// toa in them is one that there is, with flags that it takes.
func TestWorkflows(t *testing.T) {
	paths, err := filepath.Glob("../../examples/ci/.github/workflows/*.yaml")
	if err != nil || len(paths) != 2 {
		t.Fatalf("workflows are %q, %v, want two", paths, err)
	}
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		mistakes, err := linter.Lint(filepath.Base(path), text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mistakes {
			t.Errorf("%s: %v", path, m)
		}
		commands := toaCommands(t, text)
		if len(commands) != 3 {
			t.Errorf("%s has commands %q, want those of three jobs", path, commands)
		}
		for _, command := range commands {
			tryCommand(t, path, command)
		}
	}
}

// toaCommands are the command lines of toa in a workflow.
func toaCommands(t *testing.T, text []byte) []string {
	t.Helper()
	workflow, mistakes := actionlint.Parse(text)
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	var commands []string
	for _, job := range workflow.Jobs {
		for _, step := range job.Steps {
			run, ok := step.Exec.(*actionlint.ExecRun)
			if !ok {
				continue
			}
			for line := range strings.Lines(run.Run.Value) {
				if command, ok := strings.CutPrefix(strings.TrimSpace(line), "toa "); ok {
					commands = append(commands, command)
				}
			}
		}
	}
	return commands
}

func tryCommand(t *testing.T, path, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " > ")
	line = strings.NewReplacer(`"$SHARD"`, "1/4").Replace(line)
	command, args, err := newRoot(IO{Env: os.Getenv}).Find(strings.Fields(line))
	if err == nil {
		err = command.ParseFlags(args)
	}
	if err == nil {
		err = command.Args(command, command.Flags().Args())
	}
	if err != nil {
		t.Errorf("%s: toa %s: %v", path, line, err)
	}
}
