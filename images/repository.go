package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"toa.io/toa/cache"
	"toa.io/toa/internal/failpoint"
)

// manifestTypes is what we read.
var manifestTypes = []string{
	string(types.OCIManifestSchema1), string(types.OCIImageIndex),
	string(types.DockerManifestSchema2), string(types.DockerManifestList),
}

const digestHeader = "Docker-Content-Digest"

// digest is that of the manifest which target (a tag or a digest) names, or
// cache.ErrNotFound.
func (r *repository) digest(ctx context.Context, target string) (string, error) {
	said, err := r.ask(ctx, call{
		method: http.MethodHead,
		path:   "manifests/" + target,
		header: http.Header{"Accept": manifestTypes},
	}, http.StatusOK, http.StatusNotFound)
	switch {
	case err != nil:
		return "", err
	case said.status == http.StatusNotFound:
		return "", cache.ErrNotFound
	}
	if digest, err := v1.NewHash(said.header.Get(digestHeader)); err == nil {
		return digest.String(), nil
	}
	return r.digestOfContent(ctx, target)
}

// digestOfContent is for registries that do not state digests, and for what is no
// registry at all: pages that are shown in the place of others say yes to
// everything.
func (r *repository) digestOfContent(ctx context.Context, target string) (string, error) {
	raw, err := documentOf(ctx, r, target)
	if err != nil {
		return "", err
	}
	if _, err := parseManifest(raw); err != nil {
		return "", &NoManifestError{Host: r.registry.RegistryStr(), Err: err}
	}
	return describe("", raw).Digest.String(), nil
}

// manifest implements library.
func (r *repository) manifest(ctx context.Context, target string) ([]byte, error) {
	return r.small(ctx, call{
		method: http.MethodGet,
		path:   "manifests/" + target,
		header: http.Header{"Accept": manifestTypes},
	}, readSmall)
}

// open implements origin.
func (r *repository) open(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error) {
	get := call{method: http.MethodGet, path: "blobs/" + d.Digest.String()}
	var body io.ReadCloser
	var err error
	if d.Size < patientBody {
		var raw []byte
		raw, err = r.small(ctx, get, func(from io.Reader) ([]byte, error) {
			return io.ReadAll(io.LimitReader(from, d.Size+1)) // one too many is noticed below
		})
		body = io.NopCloser(bytes.NewReader(raw))
	} else {
		body, err = r.get(ctx, get)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s from %s: %w", short(d.Digest), r, err)
	}
	return verified{Reader: cache.Verify(body, d.Digest.String(), d.Size), Closer: body}, nil
}

// small reads what fits into memory, again where the connection breaks while it
// comes: who gets the answer need not care.
func (r *repository) small(ctx context.Context, c call, read func(io.Reader) ([]byte, error)) ([]byte, error) {
	for tries := (tries{host: r.host}); ; {
		body, err := r.get(ctx, c)
		if err != nil {
			return nil, err
		}
		raw, err := read(body)
		_ = body.Close()
		if err == nil {
			return raw, nil
		}
		again, stopped := tries.again(ctx, nil, err, false)
		if stopped != nil {
			return nil, stopped
		}
		if !again {
			return nil, err
		}
	}
}

func (r *repository) get(ctx context.Context, c call) (io.ReadCloser, error) {
	resp, err := r.do(ctx, c)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusNotFound:
		drain(resp)
		return nil, cache.ErrNotFound
	case resp.StatusCode != http.StatusOK:
		return nil, r.answerError(resp)
	}
	return resp.Body, nil
}

type verified struct {
	io.Reader
	io.Closer
}

func readSmall(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, cache.MaxBlob+1))
	if err == nil && len(raw) > cache.MaxBlob {
		return nil, fmt.Errorf("manifest is larger than %d MiB", cache.MaxBlob>>20)
	}
	return raw, err
}

// holds asks whether a blob is there.
func (r *repository) holds(ctx context.Context, digest v1.Hash) (bool, error) {
	said, err := r.ask(ctx, call{method: http.MethodHead, path: "blobs/" + digest.String()}, http.StatusOK, http.StatusNotFound)
	return said.status == http.StatusOK, err
}

// upload sends a blob in two requests, or one where a session is open for it.
// Where the connection breaks it begins anew: a session that broke cannot be
// trusted.
func (r *repository) upload(ctx context.Context, c content, session *url.URL) error {
	if session != nil {
		var answer *RegistryError
		if err := r.finish(ctx, session, c); err == nil || !errors.As(err, &answer) && !retryable(nil, err) {
			return r.uploadError(c, err)
		}
	}
	err := r.persist(ctx, func() error {
		session, err := r.begin(ctx, call{})
		if err == nil {
			err = r.finish(ctx, session, c)
		}
		return err
	})
	if isTooLarge(err) {
		err = r.inPieces(ctx, c)
	}
	return r.uploadError(c, err)
}

func (r *repository) uploadError(c content, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("upload %s to %s: %w", short(c.Digest), r, err)
}

var errMounted = errors.New("mounted")

// mount takes a blob over from another repository of the registry. Where the
// registry opens an upload instead, the blob is sent there. False means that
// the registry does not do it: which status it says so with means nothing. What
// may be a passing fault is tried once more, for else all blobs are sent.
func (r *repository) mount(ctx context.Context, c content, from string) (bool, error) {
	for tries := (tries{host: r.host, faults: maxRetries - 1}); ; {
		err := r.mountOnce(ctx, c, from)
		if err == nil || errors.Is(err, errMounted) {
			return true, nil
		}
		again, stopped := tries.again(ctx, nil, err, false)
		if stopped != nil {
			return false, stopped
		}
		if again {
			continue
		}
		var answer *RegistryError
		if errors.As(err, &answer) || retryable(nil, err) {
			return false, nil
		}
		return false, r.uploadError(c, err)
	}
}

func (r *repository) mountOnce(ctx context.Context, c content, from string) error {
	session, err := r.begin(ctx, call{
		query: url.Values{"mount": {c.Digest.String()}, "from": {from}},
		pull:  from,
		once:  true,
	})
	if err != nil {
		return err
	}
	return r.finish(ctx, session, c)
}

// begin opens an upload and returns where to send the blob, or errMounted.
func (r *repository) begin(ctx context.Context, c call) (*url.URL, error) {
	c.method, c.path = http.MethodPost, "blobs/uploads/"
	said, err := r.ask(ctx, c, http.StatusAccepted, http.StatusCreated)
	switch {
	case err != nil:
		return nil, err
	case said.status == http.StatusCreated && c.pull != "":
		return nil, errMounted
	}
	return r.location(said)
}

// location is where the registry says that a blob goes. Behind a proxy that
// ends TLS registries say http of themselves: the scheme stays ours.
func (r *repository) location(said answer) (*url.URL, error) {
	target, err := said.from.Parse(said.header.Get("Location"))
	if err != nil || said.header.Get("Location") == "" {
		return nil, fmt.Errorf("%s opens an upload without saying where", r.registry)
	}
	if target.Host == r.registry.RegistryStr() {
		target.Scheme = r.scheme
	}
	if target.Scheme != "https" && r.client.scheme(target.Host) != target.Scheme {
		return nil, fmt.Errorf("%s wants the upload at %s, without TLS", r.registry, target.Host)
	}
	return target, nil
}

func (r *repository) finish(ctx context.Context, session *url.URL, c content) error {
	_, err := r.ask(ctx, call{
		method: http.MethodPut,
		url:    session,
		query:  url.Values{"digest": {c.Digest.String()}},
		header: http.Header{"Content-Type": {"application/octet-stream"}},
		body:   func() (io.ReadCloser, error) { return c.open(ctx) },
		size:   c.Size,
		once:   true,
	}, http.StatusCreated, http.StatusNoContent, http.StatusOK)
	if err == nil {
		r.client.bytes.Add(c.Size)
	}
	return err
}

// put sends a manifest to target, a tag or its digest, and verifies that the
// registry has it there.
func (r *repository) put(ctx context.Context, doc document, target string) error {
	if err := failpoint.At(failpoint.ManifestPut); err != nil {
		return err
	}
	said, err := r.ask(ctx, call{
		method: http.MethodPut,
		path:   "manifests/" + target,
		header: http.Header{"Content-Type": {string(doc.MediaType)}},
		body:   func() (io.ReadCloser, error) { return memory(doc.raw).open(ctx, doc.Descriptor) },
		size:   doc.Size,
	}, http.StatusCreated, http.StatusOK, http.StatusAccepted)
	if err == nil {
		err = failpoint.At(failpoint.ManifestStored)
	}
	if err == nil {
		err = r.stands(ctx, said, doc, target)
	}
	if err != nil {
		return err
	}
	return failpoint.At(failpoint.ManifestVerified)
}

// stands verifies that the registry has a manifest at target: its answer says
// so, or it is asked.
func (r *repository) stands(ctx context.Context, said answer, doc document, target string) error {
	want := doc.Digest.String()
	if said.header.Get(digestHeader) == want {
		return nil
	}
	got, err := r.digest(ctx, target)
	switch {
	case errors.Is(err, cache.ErrNotFound):
		return fmt.Errorf("verify: the registry took %s, and has nothing there", target)
	case err != nil:
		return fmt.Errorf("verify: %w", err)
	case got != want:
		return fmt.Errorf("verify: the registry has %s at %s, not %s", got, target, want)
	}
	return nil
}

// short is enough of a digest to find it by.
func short(h v1.Hash) string { return h.Algorithm + ":" + h.Hex[:min(12, len(h.Hex))] }
