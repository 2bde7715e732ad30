package images

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// firstGap is what a registry gets between two requests once it complains.
	firstGap = 20 * time.Millisecond
	// maxGap bounds it: a registry that wants longer pauses says so.
	maxGap = time.Second
)

// pace is how fast a registry lets itself be asked. It sets no limit until the
// registry complains; then all requests of this run to it begin one after
// another, at a distance that doubles with each complaint and shrinks with each
// other answer, which settles at what the registry grants.
type pace struct {
	mu   sync.Mutex    // guards all
	next time.Time     // before it no request begins
	gap  time.Duration // between two beginnings
	era  int           // how many complaints were acted upon
}

// begin waits until a request may begin. The era goes to slower.
func (p *pace) begin(ctx context.Context) (era int, err error) {
	p.mu.Lock()
	at := p.next
	if now := time.Now(); at.Before(now) {
		at = now
	}
	if p.gap > 0 {
		p.next = at.Add(p.gap)
	}
	era = p.era
	p.mu.Unlock()
	return era, sleep(ctx, time.Until(at))
}

// slower takes in a complaint: nothing begins for as long as the registry asks.
// Of the complaints about requests that were under way together only the first
// widens the gap.
func (p *pace) slower(era int, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if era == p.era {
		p.era++
		p.gap = min(max(2*p.gap, firstGap), maxGap)
	}
	wait = max(wait, p.gap) + rand.N(max(p.gap, firstGap)) //nolint:gosec // no secret: other processes are slowed down too
	if until := time.Now().Add(wait); p.next.Before(until) {
		p.next = until
	}
}

// faster takes in an answer that is no complaint.
func (p *pace) faster() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gap -= p.gap / 4; p.gap < firstGap/4 {
		p.gap = 0
	}
}

// sleep returns early, with the reason, where ctx ends.
func sleep(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
