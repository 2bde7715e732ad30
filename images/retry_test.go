package images

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRetryAfter(t *testing.T) {
	for _, row := range []struct {
		header, text string
		want         time.Duration
	}{
		{"", "", 0},
		{"7", "", 7 * time.Second},
		{"0", "retry-after: 5s", 0},
		{"-1", "", 0},
		{"99999999999", "", 0},
		{"soon", "retry-after: 10ms, allowed: 2000/minute", 10 * time.Millisecond},
		{"", "retry-after: 1.5m", 90 * time.Second},
		{"", "retry-after: 9999999999999h", 0},
		{"Mon, 02 Jan 2006 15:04:05 GMT", "", 0},
	} {
		if got := retryAfter(http.Header{"Retry-After": {row.header}}, []byte(row.text)); got != row.want {
			t.Errorf("retryAfter(%q, %q) = %s, want %s", row.header, row.text, got, row.want)
		}
	}
}

// Some limit requests with 403: they say so. What is only forbidden stays so.
func TestComplaints(t *testing.T) {
	for _, row := range []struct {
		status       int
		header, text string
		want         bool
	}{
		{http.StatusTooManyRequests, "", "", true},
		{http.StatusForbidden, "", `{"message":"You have exceeded a secondary rate limit."}`, true},
		{http.StatusForbidden, "", `{"message":"API rate limit exceeded for installation ID 1."}`, true},
		{http.StatusForbidden, "", `{"errors":[{"code":"TOOMANYREQUESTS"}]}`, true},
		{http.StatusForbidden, "0", "", true},
		{http.StatusForbidden, "", `{"errors":[{"code":"DENIED"}]}`, false},
		{http.StatusServiceUnavailable, "1", "rate limit", false},
		{http.StatusOK, "", "rate limit", false},
	} {
		resp := &http.Response{StatusCode: row.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(row.text))}
		if row.header != "" {
			resp.Header.Set("Retry-After", row.header)
		}
		if _, got := complaint(resp); got != row.want {
			t.Errorf("complaint(%d, %q, %q) = %t, want %t", row.status, row.header, row.text, got, row.want)
		}
		if again, err := io.ReadAll(resp.Body); err != nil || string(again) != row.text {
			t.Errorf("the answer reads %q afterwards, %v, want %q", again, err, row.text)
		}
	}
}

// What a registry says of pauses never makes one that ends before it began.
func FuzzRetryAfter(f *testing.F) {
	f.Add("7", "retry-after: 10ms")
	f.Add("Mon, 02 Jan 2006 15:04:05 GMT", "retry-after: 1.5h")
	f.Fuzz(func(t *testing.T, header, text string) {
		if got := retryAfter(http.Header{"Retry-After": {header}}, []byte(text)); got < 0 {
			t.Errorf("retryAfter(%q, %q) = %s", header, text, got)
		}
	})
}

// Requests are let through at once until the registry complains, then at a
// distance that doubles with each complaint, and at once again when it has
// answered for a while.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		begin := func() (era int, waited time.Duration) {
			era, waited = p.reserve()
			time.Sleep(waited)
			return era, waited
		}
		first, waited := begin()
		if waited != 0 {
			t.Errorf("waited %s before any complaint", waited)
		}
		p.slower(first, 0)
		p.slower(first, 0) // one that was under way with it
		if p.gap != firstGap {
			t.Errorf("gap %s, want %s", p.gap, firstGap)
		}
		second, waited := begin()
		if waited < firstGap || waited >= 2*firstGap {
			t.Errorf("waited %s after a complaint, want %s to twice that", waited, firstGap)
		}
		p.slower(second, time.Hour)
		if _, waited := begin(); waited < time.Hour || p.gap != 2*firstGap {
			t.Errorf("waited %s, gap %s, want the hour that was asked for and %s", waited, p.gap, 2*firstGap)
		}
		for range 20 {
			p.faster()
		}
		begin()
		if _, waited := begin(); waited != 0 || p.gap != 0 {
			t.Errorf("waited %s after many answers", waited)
		}
		p.slower(first, 0) // from long ago: the gap stays closed
		if p.gap != 0 {
			t.Errorf("gap %s", p.gap)
		}
	})
}

// A wait is told once, however many requests wait, and again only where it has
// become twice as long.
func TestWaitIsNewsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		for _, row := range []struct {
			after, wait time.Duration
			want        bool
		}{
			{0, time.Second, false},
			{0, 30 * time.Second, true},
			{0, 30 * time.Second, false},
			{10 * time.Second, 21 * time.Second, false},
			{0, 40 * time.Second, true},
			{39 * time.Second, time.Second, false},
			{0, 2 * time.Second, true},
		} {
			time.Sleep(row.after)
			if got := p.isNews(row.wait); got != row.want {
				t.Errorf("isNews(%s) = %t after %s", row.wait, got, row.after)
			}
		}
	})
}
