package buildkit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/moby/buildkit/solver/errdefs"
	"github.com/moby/buildkit/util/grpcerrors"
	"github.com/opencontainers/go-digest"
	"google.golang.org/grpc/codes"
)

// explain makes of an engine's error what the user needs: which of the steps
// failed, who asked for it, and what it said.
func (j *job) explain(err error, on *engine, log *journal) error {
	text := j.secrets.mask().Replace(err.Error())
	step := log.failed(err)
	switch {
	case strings.Contains(text, noSpace):
		return &DiskFullError{Address: on.address.URL}
	case step != nil && strings.Contains(step.name, "] RUN "):
		line := statement(err, step.name)
		return &RunError{Line: j.secrets.mask().Replace(line), Owner: j.owner(line), Tail: step.said(), problem: problem(text)}
	case gone(err):
		return &GoneError{Address: on.address.URL, cause: errors.New(text)}
	default:
		return fmt.Errorf("build in engine %s: %s", on.address.URL, strings.TrimPrefix(text, "failed to solve: "))
	}
}

// noSpace is how systems say that a disk is full.
const noSpace = "no space left on device"

// gone tells whether the connection broke, rather than the build.
func gone(err error) bool {
	code := grpcerrors.Code(err)
	return code == codes.Unavailable || code == codes.Canceled || errors.Is(err, context.Canceled)
}

// failed is the step that an error is of, or nil.
func (j *journal) failed(err error) *progress {
	var of *errdefs.VertexError
	if errors.As(err, &of) {
		return j.steps[digest.Digest(of.GetDigest())]
	}
	return nil
}

// statement is the instruction that failed, as it is in the Dockerfile where
// the engine says so: names of steps are cut short.
func statement(err error, name string) string {
	for _, source := range errdefs.Sources(err) {
		lines := strings.Split(string(source.GetInfo().GetData()), "\n")
		for _, r := range source.GetRanges() {
			if at := int(r.GetStart().GetLine()); at > 0 && at <= len(lines) {
				return lines[at-1]
			}
		}
	}
	_, line, _ := strings.Cut(name, "] ")
	return line
}

// owner is who asked for what an instruction does: of a run line, who wrote it;
// of an installation, whose packages they are.
func (j *job) owner(instruction string) string {
	for _, run := range j.step.Recipe.Runs {
		if strings.HasSuffix(instruction, " "+run.Line) {
			return run.Owner
		}
	}
	for i, install := range j.step.Recipe.Installs {
		place := "cd " + strings.TrimSuffix(j.step.Recipe.Workdir+"/"+install.Label, "/") + " "
		if strings.Contains(instruction, place) && i < len(j.step.Sources) {
			return j.step.Sources[i].Component
		}
	}
	if len(j.step.Recipe.Packages) > 0 && strings.Contains(instruction, "--prefix /toa") {
		return "extensions"
	}
	return "context"
}

// problem is the last part of an engine's error: what went wrong itself.
func problem(text string) string {
	if at := strings.LastIndex(text, "did not complete successfully: "); at >= 0 {
		return text[at+len("did not complete successfully: "):]
	}
	return text
}

// RunError says that something failed that runs inside the image.
type RunError struct {
	// Line is the instruction; Owner is who asked for it: "context",
	// "extensions" or a component ID.
	Line, Owner string
	// Tail is the last of its output, or what npm says of the fault, without
	// secrets.
	Tail []string

	problem string
}

func (e *RunError) Error() string {
	text := fmt.Sprintf("%s (asked for by %s): %s", plainRun(e.Line), e.Owner, e.problem)
	if len(e.Tail) > 0 {
		text += "\n    " + strings.Join(e.Tail, "\n    ")
	}
	return text
}

// Hint is how to mend it.
func (e *RunError) Hint() string {
	said := strings.ToLower(strings.Join(e.Tail, "\n"))
	switch {
	case strings.Contains(said, noSpace) || strings.Contains(said, "enospc"):
		return "the engine has no space left on its disk: make room with buildctl prune, or give it a garbage collection policy"
	case strings.Contains(e.Line, "npm ci") && strings.Contains(said, "eusage"):
		return "run npm install in the component, so that its lockfile fits its package.json"
	case strings.HasSuffix(e.problem, "exit code: 127"):
		return "the base image lacks the command: state another one as registry.build.image, or install it in a run line before"
	default:
		return ""
	}
}

// plainRun is an instruction without its flags.
func plainRun(line string) string {
	line = strings.TrimPrefix(line, "RUN ")
	for strings.HasPrefix(line, "--mount=") {
		_, line, _ = strings.Cut(line, " ")
	}
	return line
}

// UnreachableError says that no engine answers at an address.
type UnreachableError struct {
	Address string

	cause error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no BuildKit engine answers at %s: %s", e.Address, reason(e.cause))
}

func (e *UnreachableError) Unwrap() error { return e.cause }

// Hint is how to mend it.
func (e *UnreachableError) Hint() string {
	switch scheme, _, _ := strings.Cut(e.Address, "://"); scheme {
	case "unix":
		return "start buildkitd there, or say where it is: --builder-address, or builder.address in context.toa.yaml"
	case "docker-container", "podman-container":
		return "see that the container runs: a builder of docker buildx is docker-container://buildx_buildkit_<name>0"
	case "kube-pod":
		return "see that the pod runs and that kubectl may exec in it"
	default:
		return "see that buildkitd runs and listens there, that its certificate is for that name, and that ours is signed by a CA that it knows"
	}
}

// reason is the end of a chain of a connection's errors, which say the same
// thing several times.
func reason(err error) string {
	text := err.Error()
	if at := strings.LastIndex(text, "desc = "); at >= 0 {
		text = strings.Trim(text[at+len("desc = "):], `"`)
	}
	return text
}

// TooOldError says that an engine is not to be used.
type TooOldError struct {
	Address string
	// Version is what it says of itself, which may be no version.
	Version string
}

func (e *TooOldError) Error() string {
	return fmt.Sprintf("the BuildKit engine at %s says it is %q, and %s is the oldest that can be used", e.Address, e.Version, oldest)
}

// Hint is how to mend it.
func (e *TooOldError) Hint() string {
	return "update it to moby/buildkit:v" + oldest.String() + " or later; one that was built by hand has to be told its version"
}

// GoneError says that an engine went away while it built.
type GoneError struct {
	Address string

	cause error
}

func (e *GoneError) Error() string {
	return fmt.Sprintf("the BuildKit engine at %s went away in the middle of the build: %s", e.Address, reason(e.cause))
}

func (e *GoneError) Unwrap() error { return e.cause }

// Hint is how to mend it.
func (e *GoneError) Hint() string {
	return "look at the engine's own log: it may have run out of memory; nothing was published, so it is enough to run again"
}

// DiskFullError says that an engine has no room.
type DiskFullError struct{ Address string }

func (e *DiskFullError) Error() string {
	return "the BuildKit engine at " + e.Address + " has no space left on its disk"
}

// Hint is how to mend it.
func (e *DiskFullError) Hint() string {
	return "make room: buildctl --addr " + e.Address + " prune, or give it a garbage collection policy"
}

// NoEngineError says that something must run on a platform that no engine has.
type NoEngineError struct {
	Platform string
	// Engines say what they have.
	Engines []string
}

func (e *NoEngineError) Error() string {
	return fmt.Sprintf("no BuildKit engine runs %s: %s", e.Platform, strings.Join(e.Engines, "; "))
}

// Hint is how to mend it.
func (e *NoEngineError) Hint() string {
	return "add the address of an engine on such a machine, install qemu-user-static on one that there is, or take the platform out of registry.platforms"
}

// CacheError says that the setting of the cache cannot be read.
type CacheError struct{ Setting string }

func (e *CacheError) Error() string {
	return fmt.Sprintf("build cache %q is neither a repository nor type=registry,ref=…", e.Setting)
}

// Hint is how to mend it.
func (e *CacheError) Hint() string {
	return "state a repository as builder.cache: registry.example.com/shop/buildcache"
}
