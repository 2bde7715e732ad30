package orchestrator

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"toa.io/toa/graph"
)

// ParseSample reads which share of the images an audit takes: "all", or
// "sample:5%".
func ParseSample(text string) (share float64, err error) {
	if text == "all" {
		return 1, nil
	}
	if mode, detail, _ := strings.Cut(text, ":"); mode == trustSample {
		if share, ok := parseShare(detail); ok {
			return share, nil
		}
	}
	return 0, fmt.Errorf("expected all or sample:N%% (sample:5%%), not %q", text)
}

// parseShare reads "5%" as 0.05.
func parseShare(text string) (share float64, ok bool) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	return share / 100, err == nil && percent && share >= 0 && share <= 100
}

// Sample has a share of the images built anew: picked at random, and at least
// one of them.
func (p *Plan) Sample(share float64) {
	count := min(max(int(math.Ceil(share*float64(len(p.Steps)))), 1), len(p.Steps))
	picked := map[graph.ID]bool{}
	for _, at := range rand.Perm(len(p.Steps))[:count] { //nolint:gosec // a sample, not a secret
		picked[p.Steps[at].ID] = true
	}
	p.Rebuild(func(s Step) bool { return picked[s.ID] })
}
