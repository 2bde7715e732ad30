package buildkit

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/platforms"
	"github.com/moby/buildkit/client"
)

// oldest is the oldest version that is used: before it, what a Dockerfile
// copies could be taken from outside of its context.
var oldest = version{0, 28, 1}

// patience is how long an engine may take to say what it is.
const patience = 20 * time.Second

// dial connects to an engine that is known to be of use.
func dial(ctx context.Context, a Address) (*client.Client, error) {
	c, err := client.New(ctx, a.URL, a.options()...)
	if err != nil {
		return nil, &UnreachableError{Address: a.URL, cause: err}
	}
	return c, nil
}

// probe asks an engine what it is and which platforms it has, native ones
// first.
func probe(ctx context.Context, a Address) ([]string, error) {
	c, err := dial(ctx, a)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	info, err := c.Info(limited)
	if err != nil {
		return nil, unreachable(ctx, a, err)
	}
	if found, ok := parseVersion(info.BuildkitVersion.Version); !ok || found.before(oldest) {
		return nil, &TooOldError{Address: a.URL, Version: info.BuildkitVersion.Version}
	}
	workers, err := c.ListWorkers(limited)
	if err != nil {
		return nil, unreachable(ctx, a, err)
	}
	if len(a.Platforms) > 0 {
		return a.Platforms, nil
	}
	var all []string
	for _, w := range workers {
		for _, p := range w.Platforms {
			all = append(all, normal(platforms.Format(p)))
		}
	}
	return all, nil
}

func unreachable(ctx context.Context, a Address, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &UnreachableError{Address: a.URL, cause: err}
}

// normal is a platform without a variant that says nothing: linux/arm64/v8 is
// linux/arm64.
func normal(platform string) string {
	p, err := platforms.Parse(platform)
	if err != nil {
		return platform
	}
	return platforms.Format(platforms.Normalize(p))
}

// version is major, minor, patch.
type version [3]int

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v version) before(other version) bool {
	for i := range v {
		if v[i] != other[i] {
			return v[i] < other[i]
		}
	}
	return false
}

// parseVersion reads "v0.28.1", whatever follows a dash or a plus.
func parseVersion(text string) (version, bool) {
	text = strings.TrimPrefix(text, "v")
	if end := strings.IndexAny(text, "-+"); end >= 0 {
		text = text[:end]
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return version{}, false
	}
	var v version
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return version{}, false
		}
		v[i] = int(n)
	}
	return v, true
}
