// Package release makes the Helm release that a build ends with. Packager
// leaves it at a package and the command that would apply it.
//
// Users may rely on this: packages of equal charts have equal bytes, wherever
// and whenever they are made, and a package that can be seen is whole.
package release

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/internal/durable"
	"toa.io/toa/internal/failpoint"
	"toa.io/toa/orchestrator"
	"toa.io/toa/workspace"
)

// Packager writes charts as packages that Helm takes, "<name>-<version>.tgz".
// It implements orchestrator.Releaser and needs neither Helm nor a cluster.
type Packager struct {
	// Dir is where packages go. It is made when missing. Beside them a note
	// says what the last one was made of; deleting it costs time only.
	Dir string
	// Settings are what the command of a release names; zero ones are left to Helm.
	// Where they name a registry, packages are published there as well.
	Settings workspace.Release
	// Publish makes Settings.Registry hold a package; it must be set where there
	// is such a registry.
	Publish func(ctx context.Context, p Package) (orchestrator.Reference, error)
}

// Package is a chart as registries hold it.
type Package struct {
	Name, Version, Description string
	// Metadata is Chart.yaml as JSON.
	Metadata []byte
	// Data is the package itself.
	Data []byte
}

// Current tells whether the last package in Dir was made of the same inputs, is
// there, byte for byte, and was published where it is to be.
func (p *Packager) Current(_ context.Context, inputs cache.Key) (orchestrator.Release, bool, error) {
	last, _, ok := p.last()
	if !ok || last.Inputs != inputs.String() || !p.knows(last) {
		return orchestrator.Release{}, false, nil
	}
	return p.release(last), true, nil
}

// Last is the package that was made last; nil where there is none that is whole.
func (p *Packager) Last() []byte {
	_, data, _ := p.last()
	return data
}

func (p *Packager) last() (note, []byte, bool) {
	last, ok := readNote(p.Dir)
	if !ok {
		return note{}, nil, false
	}
	data, err := os.ReadFile(filepath.Join(p.Dir, last.Package))
	if err != nil || cache.Digest(data).String() != last.Digest {
		return note{}, nil, false
	}
	return last, data, true
}

// knows tells whether a package was published in the registry that is named now.
func (p *Packager) knows(last note) bool {
	return p.Settings.Registry == "" || strings.HasPrefix(last.Published, p.Settings.Registry+"/")
}

// Check finds nothing: what makes a chart makes a package.
func (p *Packager) Check(context.Context, *chart.Chart) error { return nil }

// Release writes the package, and publishes it where a registry is named. The
// status is "unchanged" when the same package is there already, and "packaged"
// otherwise.
func (p *Packager) Release(ctx context.Context, inputs cache.Key, c *chart.Chart) (orchestrator.Release, error) {
	data, err := Pack(c)
	if err != nil {
		return orchestrator.Release{}, fmt.Errorf("pack chart: %w", err)
	}
	if err := context.Cause(ctx); err != nil {
		return orchestrator.Release{}, err
	}
	next := note{
		Format:  noteFormat,
		Inputs:  inputs.String(),
		Name:    c.Name,
		Package: c.Name + "-" + c.Version + ".tgz",
		Digest:  cache.Digest(data).String(),
	}
	last, _, _ := p.last()
	if err := p.keep(next, data); err != nil {
		return orchestrator.Release{}, fmt.Errorf("write chart: %w", err)
	}
	if err := p.publish(ctx, c, &next, last, data); err != nil {
		return orchestrator.Release{}, err
	}
	_ = next.write(p.Dir) // without a note the next run packs again, that is all
	made := p.release(next)
	if next.Digest != last.Digest || next.Published != last.Published {
		made.Status = orchestrator.ReleasePackaged
	}
	return made, nil
}

// keep writes the package unless it is there.
func (p *Packager) keep(next note, data []byte) error {
	path := filepath.Join(p.Dir, next.Package)
	if present, err := os.ReadFile(path); err == nil && bytes.Equal(present, data) {
		return nil
	}
	return write(path, data)
}

// publish sends a package to the registry, unless the last one was the same and
// was sent there.
func (p *Packager) publish(ctx context.Context, c *chart.Chart, next *note, last note, data []byte) error {
	if p.Settings.Registry == "" {
		return nil
	}
	if last.Digest == next.Digest && p.knows(last) {
		next.Published = last.Published
		return nil
	}
	about, err := describe(c)
	if err != nil {
		return fmt.Errorf("describe chart: %w", err)
	}
	reference, err := p.Publish(ctx, Package{about.Name, about.Version, about.Description, about.raw, data})
	if err != nil {
		return err
	}
	next.Published = reference.String()
	return nil
}

// release describes a package that is there as it should be.
func (p *Packager) release(n note) orchestrator.Release {
	path := filepath.Join(p.Dir, n.Package)
	return orchestrator.Release{
		Status:    orchestrator.ReleaseUnchanged,
		Chart:     path,
		Command:   command(n.Name, path, p.Settings),
		Reference: n.Published,
		Namespace: p.Settings.Namespace,
	}
}

// write puts a file in place at once, and makes its directory.
func write(path string, data []byte) error {
	dir, name := filepath.Dir(path), filepath.Base(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file := durable.File{
		Path: path, Temp: filepath.Join(dir, "."+name+".*"), Mode: 0o644,
		Rename: failpoint.ChartRename, Renamed: failpoint.ChartRenamed,
	}
	return file.WriteBytes(data)
}
