package chart

import (
	"fmt"

	"toa.io/toa/internal/lazyregexp"
	"toa.io/toa/workspace"
)

// semver is the grammar of Semantic Versioning 2.0.0: Helm refuses other
// versions, but only when everything has been built.
var semver = lazyregexp.New(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)` +
	`(-(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?` +
	`(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// Check tells whether a chart can be made of the workspace once its images are
// published; use it before anything is built. It returns a *NoVersionError, a
// *VersionError or a *NameError. CheckDeployment does the rest.
func Check(ws *workspace.Workspace) error {
	c := ws.Context
	switch {
	case c.Version == "":
		return &NoVersionError{Context: c.Name}
	case !semver.MatchString(c.Version):
		return &VersionError{Context: c.Name, Version: c.Version}
	}
	return checkNames(ws)
}

// NoVersionError is a context that states no version: its chart would have none.
type NoVersionError struct{ Context string }

func (e *NoVersionError) Error() string {
	return fmt.Sprintf("context %q states no version, and its chart is versioned by it", e.Context)
}

// Hint is how to mend it.
func (e *NoVersionError) Hint() string {
	return "add `version: 0.1.0` to " + workspace.ContextFile + ", or use `--release none`"
}

// Mistake is true: it is found before anything is touched.
func (*NoVersionError) Mistake() bool { return true }

// VersionError is a context whose version is not SemVer 2.
type VersionError struct{ Context, Version string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("context %q has version %q, which is not a semantic version", e.Context, e.Version)
}

// Hint is how to mend it.
func (e *VersionError) Hint() string {
	return "write three numbers, as in `1.2.3` or `1.2.3-rc.1`, or use `--release none`"
}

// Mistake is true: it is found before anything is touched.
func (*VersionError) Mistake() bool { return true }
