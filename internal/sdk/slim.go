//go:build slim

package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
	"toa.io/toa/workspace"
)

// Needed returns the error to give up with, for Elsewhere.
func Needed() error { return ErrNeeded }

// Elsewhere goes on as the full binary where that is needed, and then does not
// return: same arguments, environment and files. It returns err as it is where
// nothing was needed.
func Elsewhere(err error) error {
	if !errors.Is(err, ErrNeeded) {
		return err
	}
	own, err := os.Executable()
	if err == nil {
		own, err = filepath.EvalSymlinks(own)
	}
	if err != nil {
		return fmt.Errorf("find %s: %w", FullName, err)
	}
	full := filepath.Join(filepath.Dir(own), FullName)
	return &MissingError{full, syscall.Exec(full, os.Args, os.Environ())}
}

// Cluster stands for one that cannot be opened here.
type Cluster struct{}

func (*Cluster) Diff(context.Context, string) ([]Change, error) { return nil, ErrNeeded }

func (*Cluster) Status(context.Context) (*Status, error) { return nil, ErrNeeded }

func (*Cluster) Conceal(context.Context, string, map[string][]byte) error { return ErrNeeded }

func (*Cluster) Reveal(context.Context, string) (map[string][]byte, error) { return nil, ErrNeeded }

// Releaser stands for the one that releases to a cluster.
type Releaser struct {
	Target          release.Target
	Settings        workspace.Release
	CreateNamespace bool
	Deployed        *int
	Observe         orchestrator.Observe
}

func (*Releaser) Current(context.Context, cache.Key) (orchestrator.Release, bool, error) {
	return orchestrator.Release{}, false, ErrNeeded
}
func (*Releaser) Check(context.Context, *chart.Chart) error { return ErrNeeded }
func (*Releaser) Release(context.Context, cache.Key, *chart.Chart) (orchestrator.Release, error) {
	return orchestrator.Release{}, ErrNeeded
}

func (*Releaser) Rollback(context.Context, int) (orchestrator.Release, error) {
	return orchestrator.Release{}, ErrNeeded
}

// BuildKit stands for the builder over engines.
type BuildKit struct {
	Images         *images.Native
	Address, Cache string
	Observe        orchestrator.Observe
}

func (*BuildKit) Build(context.Context, orchestrator.Step, []orchestrator.Result) (orchestrator.Artifact, error) {
	return nil, ErrNeeded
}

func (*BuildKit) Reach(context.Context) error { return ErrNeeded }

// What is said of clusters.
type (
	Change   struct{ Kind, Name, Action, Text string }
	Rendered struct{ Manifest string }
	Status   struct {
		Name, Namespace, Server, Holder string
		Revisions                       []Revision
		Images                          []string
		Workloads                       []orchestrator.Workload
	}
	Revision struct {
		Revision                   int
		Status, Chart, Description string
		Updated                    time.Time
	}
	UnreachableError struct{ error }
)

func Role(string, string) []byte                                { return nil }
func Open(release.Target) (*Cluster, error)                     { return nil, ErrNeeded }
func Render(*chart.Chart, string) (*Rendered, error)            { return nil, ErrNeeded }
func DiffManifests(string, string) ([]Change, error)            { return nil, ErrNeeded }
func ServeRelease(context.Context, io.Reader, io.Writer) error  { return ErrNeeded }
func ServeRegistry(context.Context, net.Listener, string) error { return ErrNeeded }
func ParseAddresses(string) ([]string, error)                   { return nil, ErrNeeded }
