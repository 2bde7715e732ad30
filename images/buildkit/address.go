package buildkit

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/buildkit/client"

	// Schemes of addresses that are reached through another program.
	_ "github.com/moby/buildkit/client/connhelper/dockercontainer"
	_ "github.com/moby/buildkit/client/connhelper/kubepod"
	_ "github.com/moby/buildkit/client/connhelper/podmancontainer"
	_ "github.com/moby/buildkit/client/connhelper/ssh"
)

// tlsDirectory is the environment variable that names a directory with ca.pem,
// cert.pem and key.pem for tcp addresses that name none.
const tlsDirectory = "BUILDKIT_TLS_DIR"

// schemes are those of addresses, as BuildKit's own client has them.
var schemes = []string{"unix", "tcp", "docker-container", "podman-container", "kube-pod", "ssh"}

// Address is where one engine is.
type Address struct {
	// URL is what the client dials: scheme and place, and what its scheme takes
	// of a query (kube-pod: context, namespace, container).
	URL string
	// Platforms are those that the engine is for; empty means to ask it.
	Platforms []string

	tls tlsFiles
}

// tlsFiles are paths of PEM files. Without a CA there is no TLS.
type tlsFiles struct{ ca, cert, key, name string }

func (a Address) String() string { return a.URL }

// AddressError says what is wrong with an address.
type AddressError struct{ Address, Problem string }

func (e *AddressError) Error() string {
	return fmt.Sprintf("address of a BuildKit engine %q: %s", e.Address, e.Problem)
}

// Hint is how to mend it.
func (e *AddressError) Hint() string {
	return "an address is unix:///run/buildkit/buildkitd.sock, tcp://host:1234?tls=DIR, docker-container://name, kube-pod://pod?namespace=n or ssh://user@host; several are separated by commas"
}

// Mistake is true: it is found before anything is touched.
func (*AddressError) Mistake() bool { return true }

// ParseAddresses reads addresses that are separated by commas. A query may say
// for which platforms an engine is (`platform=linux/arm64`, repeated), and for
// tcp which files secure it: `tls=DIR` (with ca.pem, cert.pem, key.pem), or
// `ca=`, `cert=`, `key=`, and `name=` for a certificate of another name.
// `tls=off` says that a network may be trusted with secrets in the clear;
// loopback is.
func ParseAddresses(text string) ([]Address, error) {
	var all []Address
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		a, err := parseAddress(one)
		if err != nil {
			return nil, &AddressError{Address: withoutQuery(one), Problem: err.Error()}
		}
		all = append(all, a)
	}
	if len(all) == 0 {
		return nil, &AddressError{Address: text, Problem: "there is none"}
	}
	return all, nil
}

func withoutQuery(address string) string {
	place, _, _ := strings.Cut(address, "?")
	return place
}

func parseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return Address{}, errors.New("it is no URL")
	case !slices.Contains(schemes, u.Scheme):
		return Address{}, fmt.Errorf("its scheme is not one of %s", strings.Join(schemes, ", "))
	case !strings.HasPrefix(text[len(u.Scheme):], "://"):
		return Address{}, errors.New("it has no // before its place")
	case u.Host == "" && u.Scheme != "unix", u.Host+u.Path == "":
		return Address{}, errors.New("it names no place")
	}
	if _, has := u.User.Password(); has {
		return Address{}, errors.New("a password in it would be seen by all")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, errors.New("its query cannot be read")
	}
	a := Address{Platforms: query["platform"]}
	if u.Scheme == "tcp" {
		if a.tls, err = parseTLS(u, query); err != nil {
			return Address{}, err
		}
	}
	for _, ours := range []string{"platform", "tls", "ca", "cert", "key", "name"} {
		query.Del(ours)
	}
	u.RawQuery = query.Encode()
	a.URL = u.String()
	return a, nil
}

func parseTLS(u *url.URL, query url.Values) (tlsFiles, error) {
	files := tlsFiles{ca: query.Get("ca"), cert: query.Get("cert"), key: query.Get("key"), name: query.Get("name")}
	dir := query.Get("tls")
	switch {
	case dir == "off" && files.ca+files.cert+files.key == "":
		return tlsFiles{}, nil
	case dir == "" && files.ca == "":
		dir = os.Getenv(tlsDirectory)
	}
	if dir != "" {
		files.ca, files.cert, files.key = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	}
	switch {
	case files.ca == "" && !loopback(u.Hostname()):
		return tlsFiles{}, errors.New("without TLS it would get credentials and secrets in the clear: add ?tls=DIR, or ?tls=off where the network is trusted")
	case (files.cert == "") != (files.key == ""):
		return tlsFiles{}, errors.New("a certificate and its key go together")
	}
	return files, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// options are how the client is to dial.
func (a Address) options() []client.ClientOpt {
	if a.tls.ca == "" {
		return nil
	}
	return []client.ClientOpt{client.WithServerConfig(a.tls.name, a.tls.ca), client.WithCredentials(a.tls.cert, a.tls.key)}
}
