package chart

import (
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/extensions"
	"toa.io/toa/graph"
	"toa.io/toa/workspace"
)

// CheckDeployment tells whether Kubernetes takes all names and ports of the
// deployment, and whether no two things have the same name; use it before
// anything is built. It returns a *NameError, a *PortError, a *CollisionError or
// an *AnnotationsError, with the place in the workspace's files that made it.
func CheckDeployment(ws *workspace.Workspace, d *extensions.Deployment) error {
	for _, u := range d.Units {
		var c checker
		if c.unit(u); c.err != nil {
			return at(unitPosition(ws, u), c.err)
		}
	}
	for _, s := range d.Services {
		var c checker
		if c.service(s.Service); c.err != nil {
			return at(packagePosition(ws, s.Package), c.err)
		}
	}
	var c checker
	c.outside(monoKind, d.Ingress, d.Annotations)
	c.services(d)
	return at(document.Position{File: workspace.ContextFile}, c.err)
}

// unitPosition is where the unit was stated: a derived composition is its
// component, a service comes from what the context says to its package.
func unitPosition(ws *workspace.Workspace, u extensions.Unit) document.Position {
	if u.Service != nil {
		return packagePosition(ws, u.Service.Package)
	}
	for _, c := range ws.Compositions {
		if graph.NewID(compositionKind, c.Slug) == u.ID && c.Position.File != "" {
			return c.Position
		}
	}
	return document.Position{File: workspace.ContextFile}
}

// packagePosition is where the context speaks of a package.
func packagePosition(ws *workspace.Workspace, name string) document.Position {
	for _, a := range ws.Context.Annotations {
		if a.Package == name && a.Position.File != "" {
			return a.Position
		}
	}
	return document.Position{File: workspace.ContextFile}
}

func (c *checker) service(s extensions.Service) {
	owner := "service " + s.ID()
	c.name("service", "", s.ID(), serviceID)
	if s.Port != 0 {
		c.port(owner, s.Port)
	}
	c.outside(owner, s.Ingress, s.Annotations)
}

func (c *checker) unit(u extensions.Unit) {
	owner := string(u.ID)
	if u.ID.Kind() == compositionKind {
		c.name("composition", "", u.ID.Name(), compositionName)
	}
	if u.ID.Kind() != serviceKind {
		for _, label := range u.Components {
			c.name("component", "", label, componentLabel)
		}
	}
	c.variables(owner, u.Variables)
	c.mounts(owner, u.Mounts)
	for _, b := range u.Backends {
		c.port(owner, b.Port)
	}
	if p := u.Probe; p != nil && !p.Off {
		c.name("probe path", owner, p.Path, urlPath)
		c.port(owner, p.Port)
	}
}

func (c *checker) variables(owner string, all []extensions.Variable) {
	seen := make(map[string]bool, len(all))
	for _, v := range all {
		c.name("variable", owner, v.Name, variableName)
		if v.Secret != nil {
			c.name("secret", owner, v.Secret.Name, objectName)
			c.name("secret key", owner, v.Secret.Key, secretKey)
		}
		c.once(seen, "variable "+v.Name, owner)
	}
}

func (c *checker) mounts(owner string, all []extensions.Mount) {
	seen := map[string]bool{"volume " + mapVolume: true, "mount path " + mapDirectory: true}
	for _, m := range all {
		c.name("mount", owner, volume(m), volumeName)
		c.name("mount path", owner, m.Path, mountPath)
		c.name("claim", owner, m.Claim, objectName)
		c.once(seen, "volume "+volume(m), owner)
		c.once(seen, "mount path "+path.Clean(m.Path), owner)
	}
}

// outside checks the names by which others find a service or mono.
func (c *checker) outside(owner string, i *extensions.Ingress, annotations map[string]string) {
	c.annotations(owner, annotations)
	if i == nil {
		return
	}
	c.annotations(owner, i.Annotations)
	if i.Class != "" {
		c.name("ingress class", owner, i.Class, objectName)
	}
	if i.Path != "" {
		c.ingressPath(owner, i.Path)
	}
	for _, host := range i.Hosts {
		c.host(owner, host)
	}
}

// ingressPath refuses besides what controllers would read as another path.
func (c *checker) ingressPath(owner, given string) {
	c.name("ingress path", owner, given, urlPath)
	odd := strings.Contains(given, "//") || strings.Contains(strings.ToLower(given), "%2f") ||
		slices.ContainsFunc(strings.Split(given, "/"), func(part string) bool { return part == "." || part == ".." })
	if c.err == nil && odd {
		c.err = &NameError{Subject: "ingress path", Owner: owner, Name: given, Form: "a path without empty parts, dots alone and %2F"}
	}
}

// host refuses besides what looks like a name and is an address.
func (c *checker) host(owner, given string) {
	c.name("ingress host", owner, given, hostName)
	if _, err := netip.ParseAddr(given); c.err == nil && err == nil {
		c.err = &NameError{Subject: "ingress host", Owner: owner, Name: given, Form: "a name, not an address"}
	}
}

func (c *checker) annotations(owner string, all map[string]string) {
	size := 0
	for _, key := range slices.Sorted(maps.Keys(all)) {
		c.name("annotation", owner, key, annotationKey)
		size += len(key) + len(all[key])
	}
	if c.err == nil && size > maxAnnotations {
		c.err = &AnnotationsError{Owner: owner, Size: size}
	}
}

// maxAnnotations is what Kubernetes takes for all annotations of an object,
// keys and texts, in bytes.
const maxAnnotations = 256 << 10

// services checks what becomes the name of a Service: labels of components and
// services of extensions.
func (c *checker) services(d *extensions.Deployment) {
	seen := map[string]bool{}
	for _, label := range labels(d) {
		c.once(seen, "Service "+label, "the release")
	}
	for _, u := range d.Units {
		if u.ID.Kind() == monoKind {
			c.once(seen, "Service "+monoKind, "the release")
			return // it has no others
		}
	}
	for _, s := range d.Services {
		c.once(seen, "Service extension-"+s.ID(), "the release")
	}
}

// once checks that a name stands for one thing.
func (c *checker) once(seen map[string]bool, name, owner string) {
	if c.err == nil && seen[name] {
		c.err = &CollisionError{Name: name, Owner: owner}
	}
	seen[name] = true
}

func (c *checker) port(owner string, port int) {
	if c.err == nil && (port < 1 || port > 1<<16-1) {
		c.err = &PortError{Owner: owner, Port: port}
	}
}

// CollisionError is a name that two things have.
type CollisionError struct {
	// Name says of what it is, as in "volume files"; Owner is where both are.
	Name, Owner string
}

func (e *CollisionError) Error() string {
	return fmt.Sprintf("%s stands twice in %s", e.Name, e.Owner)
}

// Hint is how to mend it.
func (e *CollisionError) Hint() string { return "rename one of the two, or use `--release none`" }

// Mistake is true: it is found before anything is touched.
func (*CollisionError) Mistake() bool { return true }

// PortError is a port that does not exist.
type PortError struct {
	// Owner is what claims it.
	Owner string
	Port  int
}

func (e *PortError) Error() string {
	return fmt.Sprintf("port %d of %s does not exist: expected 1 to 65535", e.Port, e.Owner)
}

// Hint is how to mend it.
func (e *PortError) Hint() string { return "correct what claims it, or use `--release none`" }

// Mistake is true: it is found before anything is touched.
func (*PortError) Mistake() bool { return true }

// AnnotationsError is more text in annotations than an object holds.
type AnnotationsError struct {
	// Owner is whose annotations they are.
	Owner string
	// Size is in bytes.
	Size int
}

func (e *AnnotationsError) Error() string {
	return fmt.Sprintf("annotations of %s take %d KiB, an object holds %d KiB", e.Owner, (e.Size+1023)>>10, maxAnnotations>>10)
}

// Hint is how to mend it.
func (e *AnnotationsError) Hint() string { return "shorten them, or use `--release none`" }

// Mistake is true: it is found before anything is touched.
func (*AnnotationsError) Mistake() bool { return true }
