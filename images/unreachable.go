package images

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
)

// UnreachableError says that a registry could not be spoken to at all.
type UnreachableError struct {
	Host string
	Err  error
}

func (e *UnreachableError) Error() string { return fmt.Sprintf("reach %s: %v", e.Host, e.Err) }
func (e *UnreachableError) Unwrap() error { return e.Err }

// Hint is how to mend it.
func (e *UnreachableError) Hint() string {
	var (
		lookup      *net.DNSError
		certificate *tls.CertificateVerificationError
	)
	switch {
	case errors.As(e.Err, &lookup):
		return "no address is known of " + lookup.Name + ": check the registry's name and the network"
	case errors.As(e.Err, &certificate):
		return "the certificate of " + e.Host + " is not trusted here: add its authority to the system's, or name a file with it in SSL_CERT_FILE"
	case plain(e.Err):
		return e.Host + " speaks http without TLS: if that is meant to be, state it under registry.insecure in context.toa.yaml"
	case errors.Is(e.Err, syscall.ECONNREFUSED):
		return "nothing listens at " + e.Host + ": check the registry's name and port"
	default:
		return ""
	}
}

// plain tells an answer without TLS where one with it was expected.
func plain(err error) bool {
	var record tls.RecordHeaderError
	return errors.As(err, &record) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// unreachable names the host in an error of the network. Others come from what
// was to be sent.
func unreachable(host string, err error) error {
	var (
		operation   *net.OpError
		lookup      *net.DNSError
		certificate *tls.CertificateVerificationError
	)
	if errors.As(err, &operation) || errors.As(err, &lookup) || errors.As(err, &certificate) || err != nil && plain(err) {
		return &UnreachableError{Host: host, Err: err}
	}
	return err
}
