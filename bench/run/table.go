package main

import (
	"fmt"
	"strings"
	"time"
)

// target is what a case was promised to reach. Zero means that nothing was.
type target struct {
	ratio    float64 // of our wall time to the peer's
	rss      int64   // our peak, in bytes
	requests int
}

const tableHead = "| case | toa | peer | ratio | target | result |\n|---|---|---|---:|---|---|\n"

func tableRow(name string, ours, peer figures, promised target) string {
	ratio := float64(ours.wall) / float64(peer.wall)
	result := "reached"
	if short := promised.missed(ours.sample, ratio); len(short) > 0 {
		result = "**short**: " + strings.Join(short, ", ")
	}
	return fmt.Sprintf("| %s | %s | %s | %.2f | %s | %s |\n", name, ours, peer, ratio, promised, result)
}

func (f figures) String() string {
	text := fmt.Sprintf("%s: %s, CPU %s, %.0f MiB", f.name, short(f.wall), short(f.cpu), mebibytes(f.rss))
	if f.requests >= 0 {
		text += fmt.Sprintf(", %d requests", f.requests)
	}
	return text
}

func (t target) String() string {
	text := fmt.Sprintf("≤ %.1f ×", t.ratio)
	if t.rss > 0 {
		text += fmt.Sprintf(", ≤ %.0f MiB", mebibytes(t.rss))
	}
	if t.requests > 0 {
		text += fmt.Sprintf(", ≤ %d requests", t.requests)
	}
	return text
}

// missed names what fell short.
func (t target) missed(s sample, ratio float64) []string {
	var short []string
	if ratio > t.ratio {
		short = append(short, "time")
	}
	if t.rss > 0 && s.rss > t.rss {
		short = append(short, "memory")
	}
	if t.requests > 0 && s.requests > t.requests {
		short = append(short, "requests")
	}
	return short
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

// short is a duration in milliseconds with three digits or so.
func short(d time.Duration) string {
	if ms := d.Seconds() * 1000; ms < 100 {
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
}
