//go:build !slim

package sdk

import (
	"toa.io/toa/images/buildkit"
	"toa.io/toa/registry"
	"toa.io/toa/release/cluster"
)

// What the command line uses of release/cluster, images/buildkit and registry,
// where all of it is documented.
//
//nolint:revive // see above
type (
	Cluster          = cluster.Cluster
	Releaser         = cluster.Releaser
	Change           = cluster.Change
	Status           = cluster.Status
	Revision         = cluster.Revision
	UnreachableError = cluster.UnreachableError
	BuildKit         = buildkit.Builder
)

//nolint:revive // see above
var (
	Open           = cluster.Open
	Render         = cluster.Render
	DiffManifests  = cluster.DiffManifests
	Role           = cluster.Role
	ServeRelease   = cluster.Serve
	ServeRegistry  = registry.Serve
	ParseAddresses = buildkit.ParseAddresses
)

// Needed returns nil: this binary has all.
func Needed() error { return nil }

// Elsewhere returns err: there is nowhere else to go on.
func Elsewhere(err error) error { return err }
