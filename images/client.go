package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// Client speaks to registries, for one run: it keeps connections, tokens and
// counts. The zero value works. Calls overlap.
type Client struct {
	// Insecure are hosts ("host" or "host:port") that are spoken to without
	// TLS. Loopback addresses, localhost and host.docker.internal always are.
	Insecure []string
	// Keychain has the credentials; nil means those of the docker config.
	Keychain authn.Keychain
	// Transport carries the requests; nil means one of its own, which honours
	// the proxy variables.
	Transport http.RoundTripper
	// Backoff is the first pause before a request is sent again; it doubles.
	// Zero means 200 ms.
	Backoff time.Duration
	// Stall is how long nothing may move of a request that is under way; then it
	// is sent again. Zero means two minutes.
	Stall time.Duration
	// Patience is how long one request waits for a registry that limits requests.
	// Zero means two minutes.
	Patience time.Duration
	// Notice takes what a person should know who waits: once for each wait of
	// more than a second that a registry asks for. Nil means that nobody wants
	// to. Calls overlap.
	Notice func(text string)

	requests, bytes atomic.Int64

	once sync.Once
	http *http.Client
	mu   sync.Mutex // guards hosts
	host map[string]*host
}

// Requests is how many HTTP requests were sent so far.
func (c *Client) Requests() int64 { return c.requests.Load() }

// Bytes is how many bytes of blobs were uploaded so far.
func (c *Client) Bytes() int64 { return c.bytes.Load() }

// counter counts the requests that go through it.
type counter struct {
	http.RoundTripper
	sent *atomic.Int64
}

func (c counter) RoundTrip(req *http.Request) (*http.Response, error) {
	c.sent.Add(1)
	return c.RoundTripper.RoundTrip(req)
}

func (c *Client) client() *http.Client {
	c.once.Do(func() {
		carrier := c.Transport
		if carrier == nil {
			own := http.DefaultTransport.(*http.Transport).Clone()
			own.MaxIdleConnsPerHost = 32
			carrier = own
		}
		c.http = &http.Client{Transport: counter{carrier, &c.requests}, CheckRedirect: c.redirect}
	})
	return c.http
}

const maxRedirects = 10

// redirect keeps credentials from other hosts and requests from losing TLS.
func (c *Client) redirect(req *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return errors.New("too many redirects")
	}
	if req.URL.Scheme != "https" && c.scheme(req.URL.Host) != req.URL.Scheme {
		return fmt.Errorf("redirected to %s without TLS", req.URL.Host)
	}
	if req.URL.Host != via[0].URL.Host {
		req.Header.Del("Authorization")
	}
	return nil
}

// scheme is the written rule of who is spoken to without TLS.
func (c *Client) scheme(hostport string) string {
	bare := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		bare = h
	}
	bare = strings.Trim(bare, "[]")
	ip := net.ParseIP(bare)
	switch {
	case ip != nil && ip.IsLoopback(),
		bare == "localhost", strings.HasSuffix(bare, ".localhost"), bare == "host.docker.internal",
		slices.Contains(c.Insecure, hostport), slices.Contains(c.Insecure, bare):
		return "http"
	default:
		return "https"
	}
}

// repository is one repository of a registry.
type repository struct {
	*host
	name name.Repository
	text string // as references have it
	// pushes says that this run publishes there.
	pushes bool
}

// repository reads "host/path". Names without a host are Docker Hub's.
func (c *Client) repository(text string) (*repository, error) {
	parsed, err := name.NewRepository(text)
	if hasScheme(text) { // "https:" would be a host
		err = errors.New("it begins with a scheme")
	}
	if err != nil {
		return nil, &NameError{Name: text, Err: err}
	}
	return &repository{host: c.hostOf(parsed.Registry), name: parsed, text: text}, nil
}

func (c *Client) hostOf(registry name.Registry) *host {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.host == nil {
		c.host = map[string]*host{}
	}
	h, known := c.host[registry.RegistryStr()]
	if !known {
		h = &host{client: c, registry: registry, scheme: c.scheme(registry.RegistryStr()), tokens: map[string]grant{}}
		c.host[registry.RegistryStr()] = h
	}
	return h
}

func (r *repository) String() string { return r.name.Name() }

// call is one request about a repository.
type call struct {
	method string
	// path is below /v2/<repository>/, such as "manifests/latest".
	path  string
	query url.Values
	// url is where the registry said that the request goes, instead of path.
	url    *url.URL
	header http.Header
	// body opens what is sent, each time it is sent; nil for nothing.
	body func() (io.ReadCloser, error)
	size int64
	// pull is another repository that the token must be good for.
	pull string
	// once says that the request cannot be sent again as it is.
	once bool
}

// do sends the call, again where that may help. The caller closes the answer,
// whatever its status.
func (r *repository) do(ctx context.Context, c call) (*http.Response, error) {
	for tries := (tries{host: r.host}); ; {
		resp, err := r.authorized(ctx, c)
		again, stopped := tries.again(ctx, resp, err, c.once)
		if stopped != nil {
			return nil, stopped
		}
		if !again {
			return resp, err
		}
	}
}

// maxRefusals bounds how often a request is sent again with a new token. A
// registry of several machines may not know at once what its token server issued.
const maxRefusals = 2

// authorized sends the call, and again with what the registry asks for.
func (r *repository) authorized(ctx context.Context, c call) (*http.Response, error) {
	for refusals := 0; ; refusals++ {
		scopes, authorization, err := r.permission(ctx, c)
		if err != nil {
			return nil, err
		}
		resp, err := r.send(ctx, c, authorization)
		switch {
		case err != nil || resp.StatusCode != http.StatusUnauthorized:
			return resp, err
		case r.grantsLess(c, resp, authorization):
			return nil, r.readOnly(r.answerError(resp))
		case refusals == maxRefusals || !r.challenged(resp, scopes, authorization):
			return resp, nil
		}
		drain(resp)
	}
}

// patientBody is the size from which a body is sent only after the registry has
// said that it will read it. A token that has run out, or a limit, then costs no
// upload; for less the round trip costs more.
const patientBody = 1 << 20

// send waits for the host's pace and sends the call once.
func (r *repository) send(ctx context.Context, c call, authorization string) (*http.Response, error) {
	era, err := r.await(ctx)
	if err != nil {
		return nil, err
	}
	watch := watched(ctx, r.client.stall())
	req, err := r.request(watch, c, authorization)
	if err != nil {
		watch.stop()
		return nil, err
	}
	resp, err := r.client.client().Do(req)
	if err != nil {
		defer watch.stop()
		return nil, unreachable(req.URL.Host, bare(ctx, watch.explain(err)))
	}
	resp.Body = answering{resp.Body, watch}
	if wait, complains := complaint(resp); complains {
		r.pace.slower(era, wait)
	} else {
		r.pace.faster()
	}
	return resp, nil
}

func (r *repository) request(watch *watch, c call, authorization string) (*http.Request, error) {
	target := r.address(c)
	req, err := http.NewRequestWithContext(watch.ctx, c.method, target.String(), nil)
	if err != nil {
		return nil, errors.New("registry gave an address that is none")
	}
	if c.header != nil {
		req.Header = c.header.Clone()
	}
	req.Header.Set("User-Agent", "toa")
	if authorization != "" && target.Host == r.registry.RegistryStr() {
		req.Header.Set("Authorization", authorization)
	}
	if c.body == nil {
		return req, nil
	}
	req.GetBody = func() (io.ReadCloser, error) {
		body, err := c.body()
		return sending{body, watch}, err
	}
	req.ContentLength = c.size
	if c.size >= patientBody {
		req.Header.Set("Expect", "100-continue")
	}
	req.Body, err = req.GetBody()
	return req, err
}

// address is where the call goes.
func (r *repository) address(c call) *url.URL {
	target := url.URL{Scheme: r.scheme, Host: r.registry.RegistryStr(), Path: "/v2/" + r.name.RepositoryStr() + "/" + c.path}
	if c.url != nil {
		target = *c.url
	}
	if c.query != nil {
		query := target.Query()
		maps.Copy(query, c.query)
		target.RawQuery = query.Encode()
	}
	return &target
}

// bare takes the address off an error: its query may hold a secret.
func bare(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// drain makes a connection free for the next request.
func drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, maxErrorBody)
	_ = resp.Body.Close()
}

// answer is a registry's answer without its body.
type answer struct {
	status int
	header http.Header
	// from is the address that answered, after redirects.
	from *url.URL
}

// ask sends a call whose answer has no body that matters. Any status but those
// stated is an error.
func (r *repository) ask(ctx context.Context, c call, statuses ...int) (answer, error) {
	resp, err := r.do(ctx, c)
	if err != nil {
		return answer{}, err
	}
	if !slices.Contains(statuses, resp.StatusCode) {
		return answer{}, r.answerError(resp)
	}
	drain(resp)
	return answer{resp.StatusCode, resp.Header, resp.Request.URL}, nil
}

func (c *Client) backoff() time.Duration { return cmp.Or(c.Backoff, 200*time.Millisecond) }

func (c *Client) stall() time.Duration { return cmp.Or(c.Stall, 2*time.Minute) }

func (c *Client) patience() time.Duration { return cmp.Or(c.Patience, 2*time.Minute) }
