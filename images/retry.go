package images

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"toa.io/toa/cache"
)

const (
	// maxRetries bounds how often one request is sent again.
	maxRetries = 4
	// maxPause bounds what a registry may ask us to wait.
	maxPause = 30 * time.Second
)

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
		return retryableStatus(answer.Status)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, cache.ErrDamaged),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		strings.Contains(err.Error(), "server closed idle connection"), strings.Contains(err.Error(), "GOAWAY"):
		return true
	default:
		return errors.As(err, &network) && network.Timeout()
	}
}

func retryableStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// pause waits before the next try and drops the answer of this one, which may
// be nil. Random, so that parallel uploads do not come back together.
func (c *Client) pause(ctx context.Context, try int, resp *http.Response) error {
	wait := c.backoff() << try
	wait += rand.N(wait) //nolint:gosec // no secret
	if resp != nil {
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds >= 0 {
			wait = max(wait, min(time.Duration(seconds)*time.Second, maxPause))
		}
		drain(resp)
	}
	timer := time.NewTimer(min(wait, maxPause))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
