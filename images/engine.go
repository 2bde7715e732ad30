package images

import (
	"fmt"
	"path"
	"strings"

	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

// MinBuildKit is the oldest BuildKit that is built with: older ones let a
// build context write outside of itself (CVE-2026-33748).
const MinBuildKit = "0.28.1"

// MaxSaid is how many lines of a failed RUN step's output an error keeps.
const MaxSaid = 20

// RunError says that a RUN step failed in an engine.
type RunError struct {
	Step graph.ID
	// Owner is who asked for it: "context", "extensions", or a component ID;
	// empty where the recipe does not tell.
	Owner string
	// Line is the shell line.
	Line string
	// Reason is what the engine says, such as "exit code: 1".
	Reason string
	// Said are the last lines of output, up to MaxSaid.
	Said []string
}

// NewRunError makes the error of an instruction ("RUN --mount=… make all") of
// the step.
func NewRunError(step orchestrator.Step, instruction, reason string, said []string) *RunError {
	owner, line := owned(step, instruction)
	return &RunError{Step: step.ID, Owner: owner, Line: line, Reason: reason, Said: said}
}

// owned finds in a recipe who asked for an instruction, and its shell line.
func owned(step orchestrator.Step, instruction string) (owner, line string) {
	line = strings.TrimPrefix(instruction, "RUN ")
	for strings.HasPrefix(line, "--") {
		_, line, _ = strings.Cut(line, " ")
	}
	for _, run := range step.Recipe.Runs {
		if strings.TrimSpace(run.Line) == strings.TrimSpace(line) {
			return run.Owner, run.Line
		}
	}
	for i, one := range step.Recipe.Installs {
		if i < len(step.Sources) && strings.Contains(line, path.Join(step.Recipe.Workdir, one.Label)+" ") {
			return step.Sources[i].Component, line
		}
	}
	if len(step.Recipe.Packages) > 0 && strings.Contains(line, step.Recipe.Packages[0]) {
		return "extensions", line
	}
	return "", line
}

func (e *RunError) Error() string {
	text := fmt.Sprintf("run line %q", e.Line)
	if e.Owner != "" {
		text += " of " + e.Owner
	}
	text += ": " + e.Reason
	for _, line := range e.Said {
		text += "\n  " + line
	}
	return text
}

// Hint is how to mend it.
func (e *RunError) Hint() string {
	if strings.Contains(strings.Join(e.Said, "\n")+e.Reason, "exec format error") {
		return "the engine cannot run programs of this platform: give it one that can (docker run --privileged tonistiigi/binfmt --install all), or state fewer `registry.platforms`"
	}
	return ""
}

// OldEngineError says that an engine is too old to be used.
type OldEngineError struct {
	// Engine is what it is called, such as "docker's builder toa".
	Engine, Version string
	// Fix is how to get a newer one.
	Fix string
}

func (e *OldEngineError) Error() string {
	return fmt.Sprintf("%s has BuildKit %s, and %s is the oldest that is safe", e.Engine, e.Version, MinBuildKit)
}

// Hint is how to mend it.
func (e *OldEngineError) Hint() string { return e.Fix }

// NoSpaceError says that an engine's disk is full.
type NoSpaceError struct {
	Engine string
	// Fix is how to make room.
	Fix string
}

func (e *NoSpaceError) Error() string { return "no space is left on the disk of " + e.Engine }

// Hint is how to mend it.
func (e *NoSpaceError) Hint() string { return e.Fix }
