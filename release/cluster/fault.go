package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// fault wraps what a request came to, with how to mend it where that is known.
func (c *Cluster) fault(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, c.known(err))
}

// known makes of an error one that says how to mend it, where that is known.
func (c *Cluster) known(err error) error {
	var network net.Error
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return &DeniedError{Server: c.Server, Namespace: c.Namespace, Err: err}
	case errors.As(err, &network) && !errors.Is(err, context.Canceled):
		return &UnreachableError{Server: c.Server, Err: err}
	}
	return err
}

// UnreachableError is an API server that does not answer.
type UnreachableError struct {
	Server string
	Err    error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("%s does not answer: %v", e.Server, e.Err)
}
func (e *UnreachableError) Unwrap() error { return e.Err }

// Hint says what to look at.
func (e *UnreachableError) Hint() string {
	return "check the server's address in the kubeconfig, the network, and whether a VPN is needed"
}

// DeniedError is an API server that does not let us.
type DeniedError struct {
	Server, Namespace string
	Err               error
}

func (e *DeniedError) Error() string { return e.Err.Error() }
func (e *DeniedError) Unwrap() error { return e.Err }

// Hint says who can mend it.
func (e *DeniedError) Hint() string {
	return "log in to " + e.Server + " again, or ask for the rights in " + e.Namespace + " that `toa export role` lists"
}

// NamespaceError is a namespace that is not there and may not be made.
type NamespaceError struct{ Namespace string }

func (e *NamespaceError) Error() string { return fmt.Sprintf("namespace %q is not there", e.Namespace) }

// Hint says how to make it.
func (e *NamespaceError) Hint() string {
	return "`--create-namespace` makes it, or `kubectl create namespace " + e.Namespace + "`"
}

// Mistake is true: it is found before anything is touched.
func (*NamespaceError) Mistake() bool { return true }
