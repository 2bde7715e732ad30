package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/credentialprovider"
	"k8s.io/kubernetes/pkg/credentialprovider/secrets"
)

// accepted are the kinds of manifests that a container runtime knows.
var accepted = []string{
	"application/vnd.oci.image.index.v1+json",
	"application/vnd.oci.image.manifest.v1+json",
	"application/vnd.docker.distribution.manifest.list.v2+json",
	"application/vnd.docker.distribution.manifest.v2+json",
}

// Registries asks registries for images: for the manifest, not for its blobs.
// Those on the loopback are spoken to without TLS. Nothing is remembered: an
// image that goes away is missing for the next pod.
type Registries struct {
	client *http.Client
}

var _ Images = Registries{}

// NewRegistries returns what asks the registries that images name.
func NewRegistries() Registries {
	return Registries{&http.Client{Timeout: 15 * time.Second}}
}

// errUnauthorized is an answer for which credentials are tried, if there are more.
var errUnauthorized = errors.New("pull access denied, repository does not exist or may require authorization")

// Pull asks by digest where the image has one, else by tag, with each of the
// credentials that the secrets hold for its repository, as a container runtime
// does, and in its words.
func (r Registries) Pull(ctx context.Context, image string, secrets []corev1.Secret) (string, error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return "", fmt.Errorf("couldn't parse image name %q: %w", image, err)
	}
	named = reference.TagNameOnly(named)
	credentials, err := lookUp(named, secrets)
	if err != nil {
		return "", err
	}
	for _, c := range credentials {
		digest, failed := r.head(ctx, named, c)
		if failed == nil {
			return named.Name() + "@" + digest, nil
		}
		if err = failed; !errors.Is(failed, errUnauthorized) {
			break
		}
	}
	return "", fmt.Errorf("failed to pull and unpack image %q: failed to resolve reference %[1]q: %w", named.String(), err)
}

// lookUp returns what to try in turn, no credentials last.
func lookUp(named reference.Named, pullSecrets []corev1.Secret) ([]credentialprovider.AuthConfig, error) {
	ring, err := secrets.MakeDockerKeyring(pullSecrets, &credentialprovider.BasicDockerKeyring{})
	if err != nil {
		return nil, fmt.Errorf("read pull secrets: %w", err)
	}
	found, _ := ring.Lookup(named.Name())
	var list []credentialprovider.AuthConfig
	for _, c := range found {
		list = append(list, c.AuthConfig)
	}
	return append(list, credentialprovider.AuthConfig{}), nil
}

// head returns the digest of the manifest. A registry that wants a token is
// asked again with one.
func (r Registries) head(ctx context.Context, named reference.Named, c credentialprovider.AuthConfig) (string, error) {
	where := manifestURL(named)
	response, err := r.do(ctx, http.MethodHead, where, basic(c))
	if err != nil {
		return "", err
	}
	if challenge := response.Header.Get("WWW-Authenticate"); response.StatusCode == http.StatusUnauthorized && isBearer(challenge) {
		bearer, err := r.token(ctx, challenge, c)
		if err != nil {
			return "", err
		}
		if response, err = r.do(ctx, http.MethodHead, where, bearer); err != nil {
			return "", err
		}
	}
	return digest(named, response)
}

func digest(named reference.Named, response *http.Response) (string, error) {
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return "", fmt.Errorf("%s: not found", named)
	case http.StatusUnauthorized, http.StatusForbidden:
		return "", errUnauthorized
	default:
		return "", fmt.Errorf("unexpected status from HEAD request to %s: %s", response.Request.URL, response.Status)
	}
	if kind := response.Header.Get("Content-Type"); !slices.Contains(accepted, kind) {
		return "", fmt.Errorf("unexpected media type %s of %s", kind, named)
	}
	answered := response.Header.Get("Docker-Content-Digest")
	if d, ok := named.(reference.Digested); ok && answered != d.Digest().String() {
		return "", fmt.Errorf("%s has the digest %q", named, answered)
	}
	if answered == "" {
		return "", fmt.Errorf("%s: the registry names no digest", named)
	}
	return answered, nil
}

// do sends a request and drains the answer, but for small ones it returns none
// of it: what is asked for is in the header.
func (r Registries) do(ctx context.Context, method, url string, sign func(*http.Request)) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header["Accept"] = accepted
	sign(request)
	response, err := r.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("failed to do request: %w", err)
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	return response, err
}

func basic(c credentialprovider.AuthConfig) func(*http.Request) {
	return func(r *http.Request) {
		if c.Username != "" {
			r.SetBasicAuth(c.Username, c.Password)
		}
	}
}

func manifestURL(named reference.Named) string {
	host := reference.Domain(named)
	if host == "docker.io" {
		host = "registry-1.docker.io"
	}
	version := ""
	if t, ok := named.(reference.Tagged); ok {
		version = t.Tag()
	}
	if d, ok := named.(reference.Digested); ok {
		version = d.Digest().String()
	}
	return protocol(host) + "://" + host + "/v2/" + reference.Path(named) + "/manifests/" + version
}

func protocol(host string) string {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if ip := net.ParseIP(strings.Trim(name, "[]")); name == "localhost" || ip != nil && ip.IsLoopback() {
		return "http"
	}
	return "https"
}
