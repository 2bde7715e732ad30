// Package workspace reads a context and its components from an fs.FS. It knows
// all keys of both files and their rules, and the names of the standard packages;
// it knows nothing of what packages need, of images, keys or clusters.
//
// A Workspace that exists is valid as a whole: every reference between its
// parts resolves, every name fits where it will be used.
package workspace

import (
	"encoding/json"
	"time"

	"toa.io/toa/document"
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
	// Components are sorted by ID: the workspace's own, and those that packages
	// bring and a composition lists.
	Components []*Component
	// Compositions are the declared ones in order, then derived ones by name.
	Compositions []*Composition
	// Notices say what was read and has no effect, or only in older releases
	// (each once, with all positions).
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
	Cache       Cache
	// Annotations are what the context says to packages, sorted by package.
	Annotations []Annotation
	// Resources are those of units that state none; nil where the context
	// states none either.
	Resources *Resources
	Mono      Mono
	Ingress   *Ingress // nil where not stated
	Evicted   Evicted
	Atomicity *Atomicity // nil where not stated
	Outbox    Outbox
	Inbox     Inbox
	Addressed Addressed
	// Events are consumed by something that is no component, as
	// "namespace.component.event".
	Events []string
}

// Annotation is what the context says to a package.
type Annotation struct {
	// Package is the full name; "#key" names another declaration of a package.
	Package string
	// Value is as stated after overlay; a shortcut and the full name are merged.
	Value    *document.Value
	Position Position // of the key
}

// Resources are requests and limits of a unit, nil pairs where not stated.
type Resources struct {
	// None says that null was stated, which is an answer: nothing is rendered.
	None        bool
	CPU, Memory *[2]string // request, limit
}

// Mono is the one unit of all components that --mono makes.
type Mono struct {
	Replicas  int        // default 2
	Resources *Resources // nil where not stated
}

// Ingress is what services get that state no other.
type Ingress struct {
	Hosts       []string
	Class       string // empty where not stated
	Annotations map[string]string
	Default     *bool // nil where not stated
}

// Evicted are not deployed, though all else is as if they were.
type Evicted struct {
	Components []string // IDs, also of components that packages bring
	Services   []string // references of packages
}

// Atomicity says where locks are kept.
type Atomicity struct {
	Redis    []string // an odd number of addresses
	Interval *int     // nil where not stated
}

// Outbox are settings of event delivery, as the runtime takes them; nil where
// not stated.
type Outbox struct{ Interval, Batch, Retention *int }

// Inbox says how long events are remembered; nil where not stated.
type Inbox struct{ Retention *int }

// Addressed says how many milliseconds to wait for an answer; nil where not
// stated.
type Addressed struct{ Timeout *int }

// Cache are our own settings of what machines share.
type Cache struct {
	Shared string // CacheRegistry, or empty
	Write  string // "always" (default) or CacheNever
}

// Values of Cache.
const (
	CacheRegistry = "registry" // beside the images
	CacheNever    = "never"    // what others tell is read only
)

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
	// Insecure are hosts ("host" or "host:port") that are spoken to without TLS.
	Insecure []string
	Build    Build
}

// Build is what enters an image besides files.
type Build struct {
	Image string // base image reference, or empty
	// Run are the lines of the text, blank lines dropped.
	Run []string
	// Arguments are names of environment variables, in the order stated.
	Arguments []string
	// Plain says that the arguments are no secrets: they may stand in images'
	// history.
	Plain bool
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
	// Shared is where that is, if it is the one of the repository that lists the
	// component.
	Shared *SharedLock
	// Lacks is the file that would lock its packages, if it were there or knew of
	// it: a slash path below the root. It is empty where Lock is not, or where
	// there is nothing to install.
	Lacks string
	// Locals are the packages of the workspace that it depends on, and those
	// that they depend on, sorted by name.
	Locals []Local
	// HasEntity says that the component keeps a state.
	HasEntity bool
	// Storage is the package that keeps it, or empty. A relative one is
	// "./path" below the root, as in all references of a component.
	Storage string
	// Bindings are packages in the order stated; Uses are all those that the
	// component or any operation or event of it names, sorted.
	Bindings, Uses []string
	Bridge         string // package that runs the component
	Prototype      string // package or path, or empty
	// Prototypes are the directories of all that the component inherits from,
	// the nearest first. The standard one, which is last, has none: it is there
	// by its name.
	Prototypes []string
	// stray is what to say of a prototype that no image can hold.
	stray *Error
	// Extensions are declarations for packages, sorted by package; those that
	// every component has are among them.
	Extensions []Declaration
	// Operations, Events and Guards are names, Receivers what is consumed, all
	// sorted: those of the manifest, and after Discover those of directories.
	Operations, Events, Guards []string
	Receivers                  []Receiver
	// Evicted says that the component runs nowhere.
	Evicted bool
	// Bringer is the package that the component belongs to, or empty for the
	// workspace's own.
	Bringer string
	// Contract is what the manifest declares for the component map: a JSON object.
	Contract json.RawMessage
	Position Position
}

// Declaration is what a component says to a package.
type Declaration struct {
	// Package is the full name; "#key" names another declaration of a package.
	Package string
	// Value is null where nothing is to be said.
	Value    document.Packed
	Position Position // of the key, or of the component where it states none
}

// Receiver consumes an event.
type Receiver struct {
	Event  string // "namespace.component.event"
	Source string // name of a broker of others, or empty
}

// Composition is a set of components that run in one process.
type Composition struct {
	Name string // as declared, or the label of its one component
	// Slug is the name in lower case: for repositories and Kubernetes.
	Slug       string
	Components []*Component // in the order listed, never none
	Derived    bool
	Image      string // base image, resolved: never empty
	Replicas   int    // default 2
	// Services are references of packages whose services run in this process.
	Services  []string
	Resources *Resources // nil where not stated
	Position  Position
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
