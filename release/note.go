package release

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
)

const (
	noteFile   = ".toa-package.json"
	noteFormat = "toa/package/v1"
)

// note says what the last package of a directory was made of. It is believed
// only as far as the package itself proves it.
type note struct {
	Format string
	// Inputs is the key of what the chart was made of.
	Inputs string
	// Name is the chart's.
	Name string
	// Package is a file of the same directory, Digest what it hashes to.
	Package, Digest string
	// Published is the reference under which a registry has the package, with
	// its digest, or empty.
	Published string `json:",omitempty"`
}

// readNote is false when there is no note that can be used.
func readNote(dir string) (note, bool) {
	data, err := os.ReadFile(filepath.Join(dir, noteFile))
	if err != nil {
		return note{}, false
	}
	var n note
	if json.Unmarshal(data, &n) != nil || n.Format != noteFormat || n.Package != filepath.Base(n.Package) {
		return note{}, false
	}
	return n, true
}

// write does nothing when the directory holds the same note.
func (n note) write(dir string) error {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, noteFile)
	if present, err := os.ReadFile(path); err == nil && bytes.Equal(present, data) {
		return nil
	}
	return write(path, data)
}
