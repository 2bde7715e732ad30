// Package release makes the Helm release that a build ends with. Packager
// leaves it at a package and the command that would apply it.
//
// Users may rely on this: packages of equal charts have equal bytes, wherever
// and whenever they are made, and a package that can be seen is whole.
package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
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
	Settings workspace.Release

	standing orchestrator.Release
}

// Current tells whether the last package in Dir was made of the same inputs and
// is there, byte for byte.
func (p *Packager) Current(_ context.Context, inputs cache.Key) bool {
	last, ok := readNote(p.Dir)
	if !ok || last.Inputs != inputs.String() {
		return false
	}
	data, err := os.ReadFile(filepath.Join(p.Dir, last.Package))
	if err != nil || cache.Digest(data).String() != last.Digest {
		return false
	}
	p.standing = p.release(last.Name, last.Package)
	return true
}

// Standing is the package that Current found, with status "unchanged".
func (p *Packager) Standing() orchestrator.Release { return p.standing }

// Release writes the package. The status is "unchanged" when the same package
// is there already, and "packaged" otherwise.
func (p *Packager) Release(ctx context.Context, inputs cache.Key, c *chart.Chart) (orchestrator.Release, error) {
	data, err := pack(c)
	if err != nil {
		return orchestrator.Release{}, fmt.Errorf("pack chart: %w", err)
	}
	if err := context.Cause(ctx); err != nil {
		return orchestrator.Release{}, err
	}
	release := p.release(c.Name, c.Name+"-"+c.Version+".tgz")
	if present, err := os.ReadFile(release.Chart); err != nil || !bytes.Equal(present, data) {
		if err := write(release.Chart, data); err != nil {
			return orchestrator.Release{}, fmt.Errorf("write chart: %w", err)
		}
		release.Status = orchestrator.ReleasePackaged
	}
	last := note{
		Format:  noteFormat,
		Inputs:  inputs.String(),
		Name:    c.Name,
		Package: filepath.Base(release.Chart),
		Digest:  cache.Digest(data).String(),
	}
	_ = last.write(p.Dir) // without a note the next run packs again, that is all
	return release, nil
}

// release describes a package that is there as it should be.
func (p *Packager) release(name, file string) orchestrator.Release {
	path := filepath.Join(p.Dir, file)
	return orchestrator.Release{
		Status:    orchestrator.ReleaseUnchanged,
		Chart:     path,
		Command:   command(name, path, p.Settings),
		Namespace: p.Settings.Namespace,
	}
}

// write puts a file in place at once: a reader sees the old one or the new one.
func write(path string, data []byte) (err error) {
	dir, name := filepath.Dir(path), filepath.Base(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	_, err = temp.Write(data)
	// Synced first, or a power cut after the rename could leave an empty file.
	err = errors.Join(err, temp.Chmod(0o644), temp.Sync(), temp.Close())
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
