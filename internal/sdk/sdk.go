// Package sdk is the one way from the command line to the rooms that link much
// of other systems: Helm's SDK with Kubernetes', BuildKit's, and a registry. Those
// initialise for longer than an unchanged workspace is looked over, so there are
// two builds. The ordinary binary has everything. The slim one (build tag "slim")
// has stand-ins for these rooms; whoever needs one asks Needed first, and the
// command line then goes on as the full binary, before it has said or done anything.
//
// Its users may rely on this: what both builds do is the same.
package sdk

import (
	"errors"
	"fmt"
)

// FullName is the file name of the full binary where the slim one is installed,
// in the same directory.
const FullName = "toa-full"

// ErrNeeded is what Needed returns in the slim binary.
var ErrNeeded = errors.New("the full binary is needed")

// MissingError says that the full binary could not be executed.
type MissingError struct {
	path string
	err  error
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("clusters, BuildKit and serving a registry are for the full binary: execute %s: %v", e.path, e.err)
}

// Hint says how to mend it.
func (e *MissingError) Hint() string {
	return "install it there: it is what `go build -o " + FullName + " ./cmd/toa` makes"
}

func (e *MissingError) Unwrap() error { return e.err }

// Mistake is true: it is found before anything is touched.
func (*MissingError) Mistake() bool { return true }
