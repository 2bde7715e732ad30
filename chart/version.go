package chart

import (
	"fmt"
	"regexp"

	"toa.io/toa/workspace"
)

// semver is the grammar of Semantic Versioning 2.0.0: Helm refuses other
// versions, but only when everything has been built.
var semver = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)` +
	`(-(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?` +
	`(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// maxRelease is the longest name of a Helm release: a chart is released under
// its own name. maxLabel is the longest label of a component, which is part of
// the name of a pod label, "component-<label>", that may have 63 characters.
const (
	maxRelease = 53
	maxLabel   = 63 - len("component-")
)

// Check tells whether a chart can be made of the workspace once its images are
// published; use it before anything is built. It returns a *NoVersionError, a
// *VersionError or a *NameError.
func Check(ws *workspace.Workspace) error {
	c := ws.Context
	switch {
	case c.Version == "":
		return &NoVersionError{Context: c.Name}
	case !semver.MatchString(c.Version):
		return &VersionError{Context: c.Name, Version: c.Version}
	case len(c.Name) > maxRelease:
		return &NameError{Subject: "context", Name: c.Name, Limit: maxRelease}
	}
	for _, component := range ws.Components {
		if len(component.Label) > maxLabel {
			return &NameError{Subject: "component", Name: component.Label, Limit: maxLabel}
		}
	}
	return nil
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

// VersionError is a context whose version is not SemVer 2.
type VersionError struct{ Context, Version string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("context %q has version %q, which is not a semantic version", e.Context, e.Version)
}

// Hint is how to mend it.
func (e *VersionError) Hint() string {
	return "write three numbers, as in `1.2.3` or `1.2.3-rc.1`, or use `--release none`"
}

// NameError is a name that is too long for what bears it in Kubernetes.
type NameError struct {
	// Subject is "context" or "component".
	Subject string
	Name    string
	// Limit is in characters.
	Limit int
}

func (e *NameError) Error() string {
	return fmt.Sprintf("%s name %q has %d characters, a release takes %d", e.Subject, e.Name, len(e.Name), e.Limit)
}

// Hint is how to mend it.
func (e *NameError) Hint() string { return "shorten it, or use `--release none`" }
