// Package orchestrator decides: what must be built and why (Plan), in which
// order and what happens then (Build). It declares every interface that it
// needs; images, cache and release implement them.
//
// Its users may rely on this: planning changes and sends nothing; nothing is
// recorded that is not published and verified; nothing is released unless every
// image is published.
package orchestrator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/graph"
	"toa.io/toa/templates"
)

// Reference is a published image. Digest is empty until that is known.
type Reference struct {
	// Repository is the full repository, host included where there is one.
	Repository string
	Tag        string
	// Digest is "sha256:…" of the manifest or index.
	Digest string
}

// String is repo:tag, and repo:tag@digest once the digest is known.
func (r Reference) String() string {
	s := r.Repository + ":" + r.Tag
	if r.Digest != "" {
		s += "@" + r.Digest
	}
	return s
}

// ParseReference reads what String writes: repo:tag, repo:tag@digest or
// repo@digest.
func ParseReference(text string) (Reference, error) {
	name, digest, _ := strings.Cut(text, "@")
	r := Reference{Repository: name, Digest: digest}
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		r.Repository, r.Tag = name[:i], name[i+1:]
	}
	if r.Repository == "" || r.Tag == "" && r.Digest == "" {
		return Reference{}, fmt.Errorf("%q is no image reference: expected repository:tag, repository@sha256:…, or both", text)
	}
	return r, nil
}

// Source is one directory that an image holds.
type Source struct {
	// Label is the directory's name below the recipe's workdir.
	Label string
	// Component is the ID of the component, for messages.
	Component string
	// Dir is where the files are, absolute.
	Dir string
	// Version is what the manifest states, or empty.
	Version string
	// Tree lists the files and carries the key of them all.
	Tree *cache.Tree
	// Shared is the lockfile that is followed, if it is that of a repository.
	Shared *SharedLock
	// Locals are the packages of the workspace that are installed in the
	// directory, in the order of the install's Locals.
	Locals []Local
}

// SharedLock is the lockfile of a repository, and what that calls a source. npm's
// settings beside it are the source's, unless that has its own.
type SharedLock struct{ Path, Member string } // the path is absolute

// Local is where a package of the workspace is.
type Local struct {
	// Path is its directory, or its archive where Tree is nil; absolute.
	Path string
	// Tree are the files of the directory.
	Tree *cache.Tree
}

// Step is one image of a plan.
type Step struct {
	ID     graph.ID
	Recipe templates.Recipe
	// Sources are the directories to copy (composition), in the order of
	// Recipe.Copies, or to install in (dependencies), in that of Recipe.Installs.
	Sources []Source
	// Dependencies is the key of the dependencies image below it, or zero.
	Dependencies cache.Key
	// Key is of everything that can change the image.
	Key cache.Key
	// Reference has no digest until the image is known to be published.
	Reference Reference
	// Previous is the digest that was last published for this ID in this
	// repository, or empty: a hint at what the registry holds already.
	Previous string
	// Cached says that the image is published and need not be built.
	Cached bool
	// Anew says that the image is built whatever is known or kept of it: neither
	// index nor registry, nor kept layers, nor an engine's cache count.
	Anew bool
	// VerifiedAt is when the registry last said that it holds the image.
	VerifiedAt time.Time
	// Reason says in a few words why the image is built or not.
	Reason string
	// Builder says which builder would make it, and why if that is no matter of
	// course; empty for an image that is published.
	Builder string
}

// Artifact is a finished image that is not published yet. Builders make it and
// registries of the same room take it; the orchestrator only carries it.
type Artifact interface {
	// Digest is "sha256:…" of the manifest or index.
	Digest() string
}

// Result is a published image: what a step's dependents get.
type Result struct {
	ID        graph.ID
	Reference Reference
	// Artifact is what was built in this run, nil if the image was published before.
	Artifact Artifact
}

// Builder makes one image of a step and its dependencies; it publishes
// nothing. Calls overlap. An error names what in the step could not be done.
type Builder interface {
	Build(ctx context.Context, step Step, deps []Result) (Artifact, error)
}

// Registry is where images are published. Calls overlap.
type Registry interface {
	// Has returns the digest that the tag carries, or cache.ErrNotFound if the
	// registry says that there is none. Any other answer is an error, never a no.
	Has(ctx context.Context, ref Reference) (digest string, err error)
	// Publish uploads what is missing, then the manifest, verifies it, tags it
	// last and returns the digest that the tag carries: another one than the
	// artifact's when the tag was taken already, which is then kept.
	// Publishing again is cheap.
	Publish(ctx context.Context, step Step, image Artifact) (digest string, err error)
	// Traffic is what was sent so far.
	Traffic() Traffic
}

// Traffic counts what a registry was asked.
type Traffic struct{ Requests, Bytes int64 }

// Resolver finds the digest of a base image for one platform ("os/arch[/variant]").
type Resolver interface {
	Resolve(ctx context.Context, reference, platform string) (digest string, err error)
}

// Index remembers what was published, by registry, repository and key. Calls
// overlap. A broken index answers cache.ErrNotFound and forgets what it is
// given: it costs time, never a result.
type Index interface {
	Get(registry, repository string, key cache.Key) (cache.Entry, error)
	// Fresh is Get with what other processes have put since this one looked.
	Fresh(registry, repository string, key cache.Key) (cache.Entry, error)
	// Latest is the key that was last put for a target in a repository.
	Latest(registry, repository, target string) (cache.Key, error)
	// InputsOf are those that were put with each key, nil where that is not known.
	InputsOf(registry string, of []cache.Published) [][]cache.Input
	// Put is durable when it returns nil.
	Put(registry, repository string, key cache.Key, e cache.Entry, target string, inputs []cache.Input) error
	// Forget drops the row of an image that is gone.
	Forget(registry, repository string, key cache.Key)
}

// Claims keep processes of one machine from making the same image at once.
// Calls overlap.
type Claims interface {
	// Take returns what ends the claim once no other process works on the name,
	// as far as that can be known, and whether one did. Say is told what is waited
	// for. The only error is the cause of ctx.
	Take(ctx context.Context, name cache.Key, say func(text string)) (release func(), waited bool, err error)
}

// Releaser makes the release.
type Releaser interface {
	// Current describes the release that stands, and tells whether it was made
	// of the same inputs.
	Current(ctx context.Context, inputs cache.Key) (Release, bool, error)
	// Check finds, before anything is built, what would keep the release from
	// landing. Images that are still to be built stand in the chart with
	// Placeholder for a digest.
	Check(ctx context.Context, c *chart.Chart) error
	// Release returns when the release is settled; nothing goes on behind it.
	Release(ctx context.Context, inputs cache.Key, c *chart.Chart) (Release, error)
}

// Placeholder is the digest of an image that is not built yet, where a chart is
// only checked.
const Placeholder = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

// How a release ended.
const (
	ReleaseApplied   = "applied"
	ReleasePackaged  = "packaged"
	ReleaseUnchanged = "unchanged"
	ReleaseNone      = "none"
	ReleaseFailed    = "failed"
)

// Release is how a release ended.
type Release struct {
	// Status is one of ReleaseApplied and the others.
	Status string
	// Chart is the path of the package, if one was made.
	Chart string
	// Reference is where a registry has the package, if it was published.
	Reference string
	// Command is the command line that would apply the package.
	Command   string
	Revision  int
	Namespace string
	// Server is the API server's URL, empty for a package.
	Server string
}
