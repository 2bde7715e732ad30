// Package extensions says what packages need of a deployment: it turns
// annotations of the context and declarations of components into variables,
// secrets, services, mounts and probes, and gives each unit its share. Standard
// packages are rows of a table, each a pure function; others are asked.
//
// It knows nothing of images, charts and clusters, and touches nothing but
// values and, where it is given one, the file system that packages are in.
package extensions

import (
	"toa.io/toa/document"
	"toa.io/toa/graph"
)

// Global is the key of variables and mounts that every unit gets.
const Global = "global"

// Declaration is what one package asks for.
type Declaration struct {
	// Variables and Mounts are by Global or the label of a component.
	Variables map[string][]Variable
	Mounts    map[string][]Mount
	Services  []Service
	// Events are consumed by something that is no component, as
	// "namespace.component.event".
	Events []string
	// Probe is what every composition answers on; nil leaves it to others.
	Probe *Probe
	// Installs are npm packages (name → version) that images need, by the label
	// of a component or the ID of a service.
	Installs map[string]map[string]string
	// Notices are for people and stop nothing.
	Notices []string
}

// Variable is one environment variable: a value, or a key of a Kubernetes secret.
type Variable struct {
	Name   string
	Value  string
	Secret *Secret
}

// Secret is a key of a Kubernetes secret.
type Secret struct {
	Name, Key string
	Optional  bool
}

// Mount is a persistent volume claim and where it is mounted.
type Mount struct{ Name, Path, Claim string }

// Probe is where readiness is answered. Off takes away the one of before.
type Probe struct {
	Path  string
	Port  int
	Delay int // seconds before the first probe
	Off   bool
}

// Ingress leads from outside to a service. What is not stated comes from the
// context's own ingress.
type Ingress struct {
	Path        string
	Hosts       []string
	Class       string
	Annotations map[string]string
	Default     *bool
}

// Service is a process of a package, deployed on its own or hosted by compositions.
type Service struct {
	// Package is the reference of the package, as TOA_SERVICES names it.
	Package     string
	Group, Name string
	// Version is the package's.
	Version string
	// Image is the repository of the published image, or empty.
	Image       string
	Port        int // zero: none
	Ingress     *Ingress
	Annotations map[string]string
	// Resources are nil where nothing is stated, and empty where null is.
	Resources *Resources
	Variables []Variable
	// Components are labels whose keyed variables the service needs.
	Components []string
	// Probe is the service's own; nil takes that of the context.
	Probe *Probe
}

// ID is "<group>-<name>".
func (s Service) ID() string { return s.Group + "-" + s.Name }

// Resources are requests and limits of CPU and memory; nil pairs are not rendered.
type Resources struct{ CPU, Memory *[2]string }

// Unit is one Deployment: a composition, an own-deployed service, or mono.
type Unit struct {
	// ID is "composition/<slug>", "service/<group>-<name>" or "mono".
	ID         graph.ID
	Components []string // labels, sorted
	// Packages are the references of hosted services, for TOA_SERVICES.
	Packages []string
	// Hosted are the IDs of hosted services.
	Hosted    []string
	Variables []Variable
	Mounts    []Mount
	// Backends are the ports that the unit serves, longest path first.
	Backends []Backend
	Probe    *Probe // nil: none
	// Resources are never nil; empty ones are not rendered.
	Resources *Resources
	Replicas  int
	// Installs are npm packages (name → version) that the image needs.
	Installs map[string]string
	// Service is set for an own-deployed service.
	Service *Service
}

// Backend is a port and the path that leads there.
type Backend struct {
	Port int
	Path string
}

// Deployment is everything that the chart is made of besides images.
type Deployment struct {
	Units []Unit // compositions in order, then services by ID; or mono alone
	// Services are all services, own-deployed or hosted, by ID, with the units
	// that run them: for Services and Ingresses.
	Services []Placed
	// Ingress and Annotations of mono's Service; nil without --mono.
	Ingress     *Ingress
	Annotations map[string]string
	// Secrets are all that units refer to, in order and once: what Preflight asks
	// for, but for optional ones. One that any unit needs is not optional.
	Secrets []Secret
	// Components are the IDs of all components, sorted: those that packages
	// bring and evicted ones too.
	Components []string
	// Evicted are those of Components that run nowhere.
	Evicted []string
	// Variables are by Global or the label of a component, evicted ones too,
	// before units get their share: what a local environment chooses from.
	Variables map[string][]Variable
	// Notices say what could not be known.
	Notices []document.Notice
}

// Placed is a service and the names of the compositions that run it; none
// means that it has a Deployment of its own.
type Placed struct {
	Service
	Hosts []string
}
