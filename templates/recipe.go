// Package templates says how an image is made (Recipe) and writes that as a
// Dockerfile. It touches nothing but values.
package templates

// Scratch is the base reference of an image that starts from nothing.
const Scratch = "scratch"

// Recipe is everything that decides what is in an image, but for the bytes of
// the files it copies. Builders follow it; Fields lists it for the key.
type Recipe struct {
	// Kind is "composition" (mono too), "dependencies" or "service".
	Kind string
	// Base is the reference the image starts from: "scratch", "oci-layout://DIR",
	// or a registry reference. For a composition with a dependencies image it
	// is that image's ID ("dependencies/edge") and Digests is empty.
	Base string
	// Digests pins Base for each of Platforms, in their order; empty for scratch.
	Digests []string
	// Platforms are "os/arch[/variant]", sorted, at least one.
	Platforms []string
	// Epoch is the time that files and history carry, in seconds since 1970:
	// zero, or what SOURCE_DATE_EPOCH says.
	Epoch int64
	// Arguments are names of environment variables that RUN steps see; sorted.
	// Their values never enter an image, unless Plain says that its history may
	// hold them.
	Arguments []string
	Plain     bool
	// Env is "NAME=value", in order.
	Env []string
	// Workdir is absolute.
	Workdir string
	// NPM says where packages come from. Zero means npm's defaults.
	NPM NPM
	// Installs are the members whose packages are installed, sorted by label.
	Installs []Install
	// Packages are npm packages ("name@version") that extensions need, sorted;
	// they are installed into /toa, where the runtime finds them.
	Packages []string
	// Copies are the directories that are copied, sorted by label.
	Copies []Copy
	// Runs are shell lines that run inside the image, in order.
	Runs []Run
	// Cmd is a shell command line; empty leaves the base's.
	Cmd string
	// Template is the text of the workspace's own template of this kind; empty
	// means ours. Only an engine can follow it.
	Template string
}

// NPM are the settings of the package manager.
type NPM struct{ Registry, Proxy string }

// Install is one directory in which packages are installed.
type Install struct {
	// Label names the directory below Workdir.
	Label string
	// Package and Lock are hex digests (BLAKE3) of package.json and of the
	// lockfile; Lock is empty where there is none, and names the part of it that
	// counts where it is a repository's.
	Package, Lock string
	// LockName is "package-lock.json" or "npm-shrinkwrap.json", or empty.
	LockName string
	// Config is the hex digest of .npmrc, or empty. The digest only: it may
	// hold a token.
	Config string
	// Scripts says what becomes of install scripts: "run" or "ignore".
	Scripts string
	// Locals are the packages of the workspace among what is installed, sorted
	// by name.
	Locals []Local
}

// Local is a package of the workspace: it is installed like one of a registry.
type Local struct {
	// Name is what it is installed as.
	Name string
	// Digest is the hex key of its files, or that of its archive.
	Digest string
}

// Copy is one directory whose files enter the image below Workdir.
type Copy struct{ Label string }

// Run is one shell line and who asked for it ("context" or a component ID).
type Run struct{ Line, Owner string }
