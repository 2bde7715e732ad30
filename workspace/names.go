package workspace

import (
	"strings"

	"toa.io/toa/internal/lazyregexp"
)

const (
	// DefaultNamespace is that of a component which states none.
	DefaultNamespace = "default"
	// reservedNamespace belongs to the runtime.
	reservedNamespace = "system"

	// maxLabel is what Kubernetes takes for a label and a Service's name.
	maxLabel = 63
	// maxSlug leaves room for what Kubernetes appends to a Deployment's name
	// ("-<hash>-<pod>") to name a pod within 63.
	maxSlug = 52 - len(deploymentPrefix)
	// maxRepository is what registries take for the path of a repository.
	maxRepository = 255

	deploymentPrefix = "composition-"
)

const word = `[a-zA-Z]+(?:[_a-zA-Z0-9]*[a-zA-Z0-9]+)?`

var (
	contextName   = lazyregexp.New(`^` + word + `(?:-` + word + `)*$`)
	simpleName    = lazyregexp.New(`^[a-zA-Z](?:[a-zA-Z0-9]{1,31})?$`)
	componentID   = lazyregexp.New(`^` + word + `\.` + word + `$`)
	eventName     = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9]*(?:\.[a-zA-Z][a-zA-Z0-9]*){1,2}$`)
	variableName  = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	platformName  = lazyregexp.New(`^[a-z0-9]+/[a-z0-9_]+(?:/[a-z0-9.]+)?$`)
	imageTag      = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	pathComponent = lazyregexp.New(`^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$`)
	dnsLabel      = lazyregexp.New(`^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$`)
	dnsSubdomain  = lazyregexp.New(`^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$`)
	registryHost  = lazyregexp.New(`^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?$`)
)

// Label is the name of a component where case and dots do not fit: in pod
// labels, directories of images and Services.
func Label(namespace, name string) string {
	return strings.ToLower(namespace + "-" + name)
}

// CompleteID puts the default namespace before a bare name.
func CompleteID(id string) string {
	if strings.Contains(id, ".") {
		return id
	}
	return DefaultNamespace + "." + id
}

// completeEvent puts the default namespace before "component.event".
func completeEvent(name string) string {
	if strings.Count(name, ".") == 1 {
		return DefaultNamespace + "." + name
	}
	return name
}

// locate reads a component's names from the name of its directory:
// "store.orders" is orders in store.
func locate(directory string) (namespace, name string) {
	parts := strings.Split(directory, ".")
	name = parts[len(parts)-1]
	if len(parts) > 1 {
		namespace = parts[len(parts)-2]
	}
	return namespace, name
}
