package chart

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"toa.io/toa/extensions"
)

// CheckDeployment tells whether Kubernetes takes all names and ports of the
// deployment, and whether no two things have the same name; use it before
// anything is built. It returns a *NameError, a *PortError or a
// *CollisionError.
func CheckDeployment(d *extensions.Deployment) error {
	var c checker
	for _, u := range d.Units {
		c.unit(u)
	}
	for _, s := range d.Services {
		c.name("service", "", s.ID(), serviceID)
		c.port("service "+s.ID(), s.Port)
		c.outside("service "+s.ID(), s.Ingress, s.Annotations)
	}
	c.outside(monoKind, d.Ingress, d.Annotations)
	c.services(d)
	return c.err
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
		c.name("ingress path", owner, i.Path, ingressPath)
	}
	for _, host := range i.Hosts {
		c.name("ingress host", owner, host, hostName)
	}
}

func (c *checker) annotations(owner string, all map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		c.name("annotation", owner, key, annotationKey)
	}
}

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

// port checks one; zero is none.
func (c *checker) port(owner string, port int) {
	if c.err == nil && (port < 0 || port > 1<<16-1) {
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
