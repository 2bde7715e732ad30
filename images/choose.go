package images

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// Chooser is the builder "auto": natively what needs nothing to run inside the
// image, else in an engine. Each step chooses for itself, so an engine is used
// for what needs it, and is not contacted for anything else.
type Chooser struct {
	Native orchestrator.Builder
	// BuildKit is set where an address of one is known, Docker where this machine
	// has the command. Either may be nil.
	BuildKit, Docker orchestrator.Builder
	// Observe gets notices of what could not be told in the plan; it may be nil.
	Observe orchestrator.Observe
}

var _ orchestrator.Builder = (*Chooser)(nil)

// Names of builders, as users state them.
const (
	BuilderNative   = "native"
	BuilderBuildKit = "buildkit"
	BuilderDocker   = "docker"
)

// Build implements orchestrator.Builder. What a plan does not show (install
// scripts of packages) the native builder finds before it makes anything.
func (c *Chooser) Build(ctx context.Context, step orchestrator.Step, deps []orchestrator.Result) (orchestrator.Artifact, error) {
	image, err := c.Native.Build(ctx, step, deps)
	reason := engineReason(err)
	if reason == "" {
		return image, err
	}
	name, engine := c.Engine()
	if engine == nil {
		return nil, &NoEngineError{Reason: err}
	}
	if c.Observe != nil && needsEngine(step) == nil {
		c.Observe(orchestrator.NoticeEvent{Text: fmt.Sprintf("%s is built with %s: %s", step.ID, name, reason)})
	}
	return engine.Build(ctx, step, deps)
}

// engineReason is why an engine can do what the native builder could not, or
// empty where it could not either.
func engineReason(err error) string {
	var needs *NeedsEngineError
	var missing *NoCommandError
	switch {
	case errors.As(err, &needs):
		return needs.reason()
	case errors.As(err, &missing):
		return missing.Error()
	default:
		return ""
	}
}

// Engine is the one that is used, by name, nil if there is none: BuildKit before
// Docker, since its address was stated by someone.
func (c *Chooser) Engine() (string, orchestrator.Builder) {
	switch {
	case c.BuildKit != nil:
		return BuilderBuildKit, c.BuildKit
	case c.Docker != nil:
		return BuilderDocker, c.Docker
	default:
		return "", nil
	}
}

// Why says which builder makes a step and why, for the plan. Nothing is read or
// asked for that, so where packages are installed it says what may change it.
func (c *Chooser) Why(step orchestrator.Step) string {
	reason := engineReason(needsEngine(step))
	name, _ := c.Engine()
	switch {
	case reason != "" && name == "":
		return "no builder: " + reason
	case reason != "":
		return name + ": " + reason
	case !mayRunScripts(step.Recipe):
		return BuilderNative
	case name == "":
		return BuilderNative + ", unless a package has an install script"
	default:
		return BuilderNative + ", or " + name + " if a package has an install script"
	}
}

// mayRunScripts tells whether packages are installed that may have scripts to
// run. Lockfiles tell whether they have, and are read when the step is built.
func mayRunScripts(r templates.Recipe) bool {
	may := func(one templates.Install) bool { return one.Scripts != "ignore" }
	return len(r.Packages) > 0 || slices.ContainsFunc(r.Installs, may)
}

// NoEngineError says that a step needs an engine and none is known.
type NoEngineError struct {
	// Reason is a *NeedsEngineError or a *NoCommandError.
	Reason error
}

func (e *NoEngineError) Error() string { return e.Reason.Error() + ", and no engine is known" }

func (e *NoEngineError) Unwrap() error { return e.Reason }

// Hint is how to give one.
func (e *NoEngineError) Hint() string {
	hint := "name a BuildKit: `builder.address` in context.toa.yaml, --builder-address URL or BUILDKIT_HOST; or install Docker with buildx"
	var own interface{ Hint() string }
	if errors.As(e.Reason, &own) && own.Hint() != "" {
		hint += "; or " + own.Hint()
	}
	return hint
}
