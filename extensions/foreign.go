package extensions

import (
	"context"
	"encoding/json"
	"errors"

	"toa.io/toa/document"
)

// Foreign asks packages that are not among the standard ones. Calls do not
// overlap.
type Foreign interface {
	// Introduce returns what a package says before it is known who uses it. The
	// reference is its name, with "#key" for another declaration of it, or
	// "./path" below the root; from is the directory below the root that it is
	// found from. The annotation is nil where the context says nothing.
	// ErrUndescribed means that the package is there and says nothing, or is
	// not there at all.
	Introduce(ctx context.Context, reference, from string, annotation json.RawMessage) (Introduction, error)
	// Describe returns what a package asks for. Reference, from and
	// ErrUndescribed are as above.
	Describe(ctx context.Context, reference, from string, request Request) (Declaration, error)
}

// Introduction is what a package says of itself.
type Introduction struct {
	// Standalone packages are deployed where they are annotated, though no
	// component uses them.
	Standalone bool
	// Components are those that the package brings, new ones each time.
	Components []*Component
}

// ErrUndescribed says that a package does not say what it needs.
var ErrUndescribed = errors.New("the package does not say what it needs of a deployment")

// Request is what a package is told. Equal requests have equal answers.
type Request struct {
	Annotation json.RawMessage `json:"annotation,omitempty"`
	// Instances are deployed, All are those that are evicted too.
	Instances []Peer `json:"instances"`
	All       []Peer `json:"all"`
}

// Peer is a component that uses the package.
type Peer struct {
	Locator Locator `json:"locator"`
	// Manifest is what the component declares for the package.
	Manifest json.RawMessage `json:"manifest"`
	// Component is its whole manifest; null for those that packages bring.
	Component json.RawMessage `json:"component"`
}

// Locator names a component.
type Locator struct {
	ID        string `json:"id"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Label     string `json:"label"`
	Uppercase string `json:"uppercase"`
	Lowercase string `json:"lowercase"`
}

func (in Input) request() Request {
	r := Request{Instances: peers(in.Instances), All: peers(in.All)}
	if in.Annotation != nil {
		r.Annotation = in.Annotation.JSON()
	}
	return r
}

var null = json.RawMessage("null")

func peers(instances []Instance) []Peer {
	all := make([]Peer, len(instances))
	for n, i := range instances {
		all[n] = Peer{Manifest: null, Component: null, Locator: Locator{
			ID: i.ID, Namespace: i.Namespace, Name: i.Name, Label: i.Label,
			Uppercase: i.variable(), Lowercase: i.Label,
		}}
		if i.Contract != nil {
			all[n].Component = i.Contract
		}
		if i.Declaration != nil {
			all[n].Manifest = i.Declaration.JSON()
		}
	}
	return all
}

// UnknownPackageError is a package of which nothing is known.
type UnknownPackageError struct {
	Package string
	// Component uses it, or is empty: a composition or the context names it.
	Component string
	Position  document.Position
}

func (e *UnknownPackageError) Error() string {
	by := ""
	if e.Component != "" {
		by = ", which component " + e.Component + " uses"
	}
	return e.Position.String() + ": expected a standard package or one that says what it needs, found " + document.Quote(e.Package) + by
}

// Hint names both ways to make it known.
func (e *UnknownPackageError) Hint() string {
	return "put a " + DeploymentFile + " into the package, or install the package and Node.js, so that its own declaration can be asked"
}

// Mistake is true: it is found before anything is touched.
func (*UnknownPackageError) Mistake() bool { return true }

// Several asks one after the other until one knows the package.
type Several []Foreign

// Introduce returns the first answer.
func (s Several) Introduce(ctx context.Context, reference, from string, annotation json.RawMessage) (Introduction, error) {
	for _, one := range s {
		said, err := one.Introduce(ctx, reference, from, annotation)
		if !errors.Is(err, ErrUndescribed) {
			return said, err
		}
	}
	return Introduction{}, ErrUndescribed
}

// Describe returns the first answer.
func (s Several) Describe(ctx context.Context, reference, from string, request Request) (Declaration, error) {
	for _, one := range s {
		d, err := one.Describe(ctx, reference, from, request)
		if !errors.Is(err, ErrUndescribed) {
			return d, err
		}
	}
	return Declaration{}, ErrUndescribed
}
