package orchestrator

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Trust says which rows of the index are checked with the registry before they
// are relied on. The zero value is TrustRelease.
type Trust struct {
	mode  string
	age   time.Duration
	share float64
}

// Modes of trust.
const (
	trustRelease = ""
	trustNever   = "never"
	trustAlways  = "always"
	trustOlder   = "older"
	trustSample  = "sample"
)

// ParseTrust reads "release", "never", "always", "older:24h" or "sample:5%".
func ParseTrust(text string) (Trust, error) {
	mode, detail, has := strings.Cut(text, ":")
	switch {
	case text == "release":
		return Trust{}, nil
	case !has && (mode == trustNever || mode == trustAlways):
		return Trust{mode: mode}, nil
	case mode == trustOlder:
		if age, err := time.ParseDuration(detail); err == nil && age >= 0 {
			return Trust{mode: mode, age: age}, nil
		}
	case mode == trustSample:
		if share, ok := parseShare(detail); ok {
			return Trust{mode: mode, share: share}, nil
		}
	}
	return Trust{}, fmt.Errorf("expected release, never, always, older:DURATION (older:24h) or sample:N%% (sample:5%%), not %q", text)
}

// asks tells whether a row has to be checked. Releasing says that what is
// built now will be released.
func (t Trust) asks(s Step, releasing bool, now time.Time) bool {
	switch t.mode {
	case trustNever:
		return false
	case trustAlways:
		return true
	case trustOlder:
		age := s.age(now)
		return age > t.age || age < 0 // a clock was wrong: nobody knows when that was
	case trustSample:
		return rand.Float64() < t.share //nolint:gosec // a sample, not a secret
	default:
		return releasing
	}
}
