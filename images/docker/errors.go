package docker

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"toa.io/toa/images"
)

// errNoArchive says that the builder cannot give an image out as an archive.
var errNoArchive = errors.New("docker's own builder gives no images out")

// Error says that docker failed, in its own words.
type Error struct {
	// Said is the last of what it said, or empty.
	Said string
	// Fix is how to mend it, or empty.
	Fix string

	cause error
}

func (e *Error) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("docker: %v", e.cause)
	}
	return "docker: " + e.Said
}

func (e *Error) Unwrap() error { return e.cause }

// Hint is how to mend it.
func (e *Error) Hint() string { return e.Fix }

// symptom is what docker says of a trouble, and what to do about it.
type symptom struct {
	says []string
	fix  string
}

const (
	withoutDocker = "or build without it: --builder native, or --builder buildkit with --builder-address URL"
	noSpace       = "make room: docker buildx prune, or docker system prune"
)

var symptoms = []symptom{
	{
		[]string{"cannot connect to the docker daemon", "failed to connect to the docker api", "error during connect", "is the docker daemon running"},
		"start Docker, " + withoutDocker,
	},
	{
		[]string{"permission denied while trying to connect"},
		"let this user use Docker (its group is docker, as a rule), " + withoutDocker,
	},
	{
		[]string{"'buildx' is not a docker command", "unknown command: docker buildx", "unknown flag: --", "unknown shorthand flag"},
		"install docker buildx 0.13 or later: https://docs.docker.com/go/buildx/",
	},
	{
		[]string{"401 unauthorized", "insufficient_scope", "authorization failed"},
		"log in to the registry of the base image: docker login",
	},
}

// explain makes an error of a failure of docker and of the last lines that it
// said.
func explain(said []string, cause error) error {
	var missing *images.NoCommandError
	if errors.As(cause, &missing) {
		return missing
	}
	all := strings.ToLower(strings.Join(said, "\n"))
	switch {
	case strings.Contains(all, "oci exporter is not supported"):
		return errNoArchive
	case strings.Contains(all, "no space left on device"):
		return &images.NoSpaceError{Engine: "docker's builder", Fix: noSpace}
	}
	failed := &Error{Said: errorLine(said), cause: cause}
	for _, one := range symptoms {
		for _, text := range one.says {
			if strings.Contains(all, text) {
				failed.Fix = one.fix
				return failed
			}
		}
	}
	return failed
}

// errorLine is the line in which docker says what is wrong: the last that
// begins with ERROR, or else the last of all.
func errorLine(said []string) string {
	last := ""
	for _, line := range slices.Backward(said) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "ERROR: "); ok {
			return text
		}
		last = cmp.Or(last, line)
	}
	return last
}
