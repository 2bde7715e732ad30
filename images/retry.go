package images

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/internal/lazyregexp"
)

// maxRetries bounds how often one request is sent again.
const maxRetries = 4

// tries counts what went wrong with one piece of work.
type tries struct {
	host   *host
	faults int
	// since is when the registry first said that it is asked too much.
	since time.Time
}

// again tells whether another try may do better and waits until it is time.
// What was answered is then dropped. Once says that what broke cannot be sent
// again as it is; what was turned away unread can.
func (t *tries) again(ctx context.Context, resp *http.Response, err error, once bool) (bool, error) {
	said, complains := complaintOf(resp, err)
	if complains {
		if t.since.IsZero() {
			t.since = time.Now()
		}
		if time.Since(t.since)+said > t.host.client.patience() {
			return false, nil
		}
		discard(resp)
		return true, nil // the host's pace waits
	}
	if once || t.faults == maxRetries || !retryable(resp, err) {
		return false, nil
	}
	wait := t.host.client.backoff() << t.faults
	wait += rand.N(wait) //nolint:gosec // no secret: parallel uploads shall not come back together
	wait = max(wait, said)
	if wait > t.host.client.patience() {
		return false, nil
	}
	t.host.waits("asks for a pause", said)
	t.faults++
	discard(resp)
	return true, sleep(ctx, wait)
}

// persist does a piece of work, again where that may help.
func (h *host) persist(ctx context.Context, do func() error) error {
	for tries := (tries{host: h}); ; {
		err := do()
		if err == nil {
			return nil
		}
		again, stopped := tries.again(ctx, nil, err, false)
		if stopped != nil {
			return stopped
		}
		if !again {
			return err
		}
	}
}

func discard(resp *http.Response) {
	if resp != nil {
		drain(resp)
	}
}

// retryable tells whether the same request may do better: the registry is
// overloaded or restarting, or the connection broke.
func retryable(resp *http.Response, err error) bool {
	if err == nil {
		return retryableStatus(resp.StatusCode)
	}
	var network net.Error
	var answer *RegistryError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case errors.As(err, &answer):
		// A registry that was started again has forgotten its uploads.
		return retryableStatus(answer.Status) || slices.Contains(answer.Codes, "BLOB_UPLOAD_UNKNOWN")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, cache.ErrDamaged),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, errStalled),
		errors.Is(err, net.ErrClosed), // what a reset during an upload can look like
		strings.Contains(err.Error(), "server closed idle connection"), strings.Contains(err.Error(), "GOAWAY"):
		return true
	default:
		return errors.As(err, &network) && network.Timeout()
	}
}

func retryableStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// complaintOf tells whether the registry says that it is asked too much, and
// for how long it wants not to be, whatever its reason.
func complaintOf(resp *http.Response, err error) (wait time.Duration, complains bool) {
	var answer *RegistryError
	switch {
	case errors.As(err, &answer):
		return answer.RetryAfter, answer.Limited
	case resp != nil:
		return complaint(resp)
	default:
		return 0, false
	}
}

// complaint reads an answer, which can be read again afterwards. GitHub limits
// requests with 403 too, and says how long in the text only:
// https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
func complaint(resp *http.Response) (wait time.Duration, complains bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusForbidden {
		return retryAfter(resp.Header, nil), false
	}
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // as far as it came
	resp.Body = readAgain{bytes.NewReader(raw), resp.Body}
	text := bytes.ToLower(raw)
	complains = resp.StatusCode == http.StatusTooManyRequests ||
		resp.Header.Get("Retry-After") != "" ||
		bytes.Contains(text, []byte("rate limit")) || bytes.Contains(text, []byte("toomanyrequests"))
	return retryAfter(resp.Header, text), complains
}

// readAgain is a body whose beginning was read.
type readAgain struct {
	io.Reader
	io.Closer
}

var retryAfterText = lazyregexp.New(`retry-after: ?(\d+(?:\.\d+)?(?:ms|s|m|h))`)

// retryAfter is how long a registry asks us to wait: in seconds, until a date,
// or in the text of the answer.
func retryAfter(header http.Header, text []byte) time.Duration {
	said := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(said, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(said); err == nil {
		return max(0, time.Until(date))
	}
	if found := retryAfterText.FindSubmatch(text); found != nil {
		wait, _ := time.ParseDuration(string(found[1])) // too large is none
		return wait
	}
	return 0
}
