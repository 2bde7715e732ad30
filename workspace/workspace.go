// Package workspace reads a context and its components from an fs.FS. It knows
// YAML and the rules of its keys; it knows nothing of images, keys or clusters.
//
// A Workspace that exists is valid as a whole: every reference between its
// parts resolves, every name fits where it will be used.
package workspace

import (
	"encoding/json"
	"time"
)

// ContextFile and ManifestFile are the names of the files that are read.
const (
	ContextFile  = "context.toa.yaml"
	ManifestFile = "manifest.toa.yaml"
	LockFile     = "toa.lock"
)

// Workspace is a context with its components, for one environment.
type Workspace struct {
	// Environment is the first name of the environment chain, or empty.
	Environment string
	Context     Context
	// Components are sorted by ID.
	Components []*Component
	// Compositions are the declared ones in order, then derived ones by name.
	Compositions []*Composition
	// Notices say what was read and is not acted upon (each once, with all
	// positions), and other things that stop nothing.
	Notices []Notice
}

// Context is context.toa.yaml after overlay and defaults.
type Context struct {
	Name        string
	Version     string // empty where not stated: no chart can be made
	Description string
	Runtime     Runtime
	Registry    Registry
	Release     Release
	Builder     Builder
}

// Runtime is the Toa runtime that images run.
type Runtime struct {
	Version  string // default DefaultRuntime
	Registry string // npm registry, or empty
	Proxy    string // npm proxy, or empty
}

// Registry says where images go and what they start from.
type Registry struct {
	Base string // "host/path" without trailing slash; empty: a layout on disk
	// Platforms are sorted "os/arch[/variant]"; nil means the host's only.
	Platforms   []string
	Credentials string // name of the image pull secret, or empty
	Services    string // "build" or "published"
	Build       Build
}

// Build is what enters an image besides files.
type Build struct {
	Image string // base image reference, or empty
	// Run are the lines of the text, blank lines dropped.
	Run []string
	// Arguments are names of environment variables, in the order stated.
	Arguments []string
	// Scripts is what becomes of npm install scripts: "run" (default) or "ignore".
	Scripts string
}

// Release are our own settings of the Helm release.
type Release struct {
	Namespace string
	Context   string // kubeconfig context; empty: none is named
	Wait      bool
	Timeout   time.Duration // zero: not stated
	Atomic    bool
	History   int    // zero: not stated
	Registry  string // OCI registry for packages, or empty
}

// Builder are our own settings of the engine.
type Builder struct {
	Kind    string // "auto" (default), "native", "buildkit", "docker"
	Address string
	Cache   string
}

// Component is one directory with a manifest.
type Component struct {
	ID        string // "store.orders"
	Namespace string // "default" where none is stated
	Name      string
	Label     string // "store-orders", lower case
	Dir       string // slash path below the root
	Version   string // stated by the manifest, or empty
	// Files are paths and globs the component is made of; empty means everything.
	Files []string
	// Ignore are globs added to the built-in ones; a leading "!" removes a built-in one.
	Ignore []string
	Build  Build
	// Module is "module" or "commonjs": the type of the nearest package.json above.
	Module string
	// HasPackage says that the component has a package.json of its own.
	HasPackage bool
	// HasDependencies says that its package.json lists dependencies to install.
	HasDependencies bool
	// Lock is the name of its lockfile ("npm-shrinkwrap.json" before
	// "package-lock.json"), or empty; only looked for where HasDependencies.
	Lock string
	// Contract is what the manifest declares for the component map: a JSON object.
	Contract json.RawMessage
	Position Position
}

// Composition is a set of components that run in one process.
type Composition struct {
	Name string // as declared, or the label of its one component
	// Slug is the name in lower case: for repositories and Kubernetes.
	Slug       string
	Components []*Component // in the order listed
	Derived    bool
	Image      string // base image, resolved: never empty
	Replicas   int    // default 2
	Position   Position
}

// Notice is something that a person should know.
type Notice struct {
	Text      string
	Positions []Position
}

// Memo keeps what was made of a file's bytes, so that an unchanged file is not
// parsed again. Calls overlap. It may forget anything at any time.
type Memo interface {
	// Recall returns what Keep was given for the bytes that path holds now, or
	// for its not being there, or nil. It does not read the file where that can be known without. Path is
	// a slash path below the root.
	Recall(path string) []byte
	// Keep remembers memo for path as long as it holds content; nil content
	// means as long as there is no such file.
	Keep(path string, content, memo []byte)
}
