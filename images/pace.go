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
	// silence is how long a wait is not worth a word.
	silence = time.Second
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
	told time.Time     // until then a person knows that we wait
}

// reserve is how long a request has to wait for its turn. The era goes to slower.
func (p *pace) reserve() (era int, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, at := time.Now(), p.next
	if at.Before(now) {
		at = now
	}
	if p.gap > 0 {
		p.next = at.Add(p.gap)
	}
	return p.era, at.Sub(now)
}

// isNews tells whether a person should hear of a wait: it is long, and nobody
// was told of it or of one of half its length.
func (p *pace) isNews(wait time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if wait <= silence || wait < 2*p.told.Sub(now) {
		return false
	}
	p.told = now.Add(wait)
	return true
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
