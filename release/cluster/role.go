package cluster

import (
	"bytes"
	"fmt"
	"strings"
)

// right is what a release does with one kind of resource in its namespace.
type right struct {
	group    string
	resource string // "deployments", or "pods/log"
	verbs    []string
	// lease restricts it to the lease of the release.
	lease bool
	// why is said to whoever grants it.
	why string
}

// rights are all that a release needs, in its own namespace. Nothing is needed
// outside of it, not even to see that the namespace is there; only to make one
// is a right of the whole cluster.
var rights = []right{
	{resource: "secrets", verbs: []string{"create", "delete", "get", "list", "update"}, why: "records of the release (Helm's), toa conceal and toa reveal"},
	{resource: "configmaps", verbs: []string{"create", "delete", "get", "list", "patch"}, why: "the component map"},
	{resource: "services", verbs: []string{"create", "delete", "get", "list", "patch"}, why: "addresses of components and services"},
	{group: "apps", resource: "deployments", verbs: []string{"create", "delete", "get", "list", "patch", "watch"}, why: "compositions and services"},
	{group: "networking.k8s.io", resource: "ingresses", verbs: []string{"create", "delete", "get", "list", "patch"}, why: "what answers from outside"},
	{group: "apps", resource: "replicasets", verbs: []string{"list", "watch"}, why: "tells new pods from old ones"},
	{resource: "pods", verbs: []string{"list", "watch"}, why: "what keeps a release from being ready"},
	{resource: "pods/log", verbs: []string{"get"}, why: "last words of what did not start"},
	{resource: "events", verbs: []string{"list"}, why: "what the cluster says of it"},
	{group: "coordination.k8s.io", resource: "leases", verbs: []string{"create"}, why: "one release at a time"},
	{group: "coordination.k8s.io", resource: "leases", verbs: []string{"delete", "get", "update"}, lease: true},
}

// Role is a Kubernetes Role, as YAML, that is enough to make, check, watch and
// roll back a release in a namespace, and no more.
func Role(namespace, release string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Enough for toa to release %[2]s to the namespace %[1]s. Bind it to whoever releases:
#   kubectl create rolebinding toa-%[2]s --role toa-%[2]s --serviceaccount %[1]s:deployer -n %[1]s
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: toa-%[2]s
  namespace: %[1]s
rules:
`, namespace, release)
	for _, r := range rights {
		r.write(&b, release)
	}
	return b.Bytes()
}

func (r right) write(b *bytes.Buffer, release string) {
	if r.why != "" {
		fmt.Fprintf(b, "  # %s\n", r.why)
	}
	fmt.Fprintf(b, "  - apiGroups: [%q]\n    resources: [%q]\n", r.group, r.resource)
	if r.lease {
		fmt.Fprintf(b, "    resourceNames: [%q]\n", leaseName(release))
	}
	fmt.Fprintf(b, "    verbs: [%s]\n", strings.Join(r.verbs, ", "))
}
