package ui

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"toa.io/toa/orchestrator"
)

// screenful is how many lines a quiet run says at most: what a mail of cron or
// a terminal shows without scrolling, with two lines for the error.
const screenful = 22

// quiet says nothing of a run that went well, and one screen of any other.
type quiet struct {
	mu     sync.Mutex // guards all below
	board  *board
	stderr output
	closed bool
}

// NewQuiet makes the sink for cron: it writes when the run has ended, and only
// where an image failed or an audit has found something.
func NewQuiet(stderr io.Writer) Sink {
	return &quiet{board: newBoard(), stderr: output{w: stderr}}
}

func (q *quiet) Observe(event orchestrator.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.board.summary == nil {
		q.board.apply(event)
	}
}

func (q *quiet) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s := q.board.summary; s != nil && !q.closed {
		q.closed = true
		q.stderr.write(screenOf(q.board, *s))
	}
	if q.stderr.err != nil {
		return fmt.Errorf("write outcome: %w", q.stderr.err)
	}
	return nil
}

// screenOf is what a run has to say for itself: nothing, or one screen with the
// outcome first.
func screenOf(b *board, s orchestrator.Summary) string {
	told := troubles(b, s)
	if s.OK && len(told) == 0 {
		return ""
	}
	head := fmt.Sprintf("%s: %s in %s", Escape(b.context), outcome(s), seconds(s.Elapsed))
	if len(s.Findings) > 0 {
		head += "; audit: " + verdicts(s.Findings)
	}
	all := append([]string{head}, told...)
	if more := len(all) - screenful; more > 0 {
		all = append(all[:screenful-1], fmt.Sprintf("and %d lines more: see --summary", more+1))
	}
	return strings.Join(all, "\n") + "\n"
}

// troubles are failed images and what the audit found, each with as many lines
// as leave room for the others.
func troubles(b *board, s orchestrator.Summary) []string {
	var each [][]string
	for _, im := range b.with(orchestrator.StatusFailed) {
		each = append(each, append([]string{Escape(string(im.id)) + "  " + im.done()}, append(im.failure(), im.log...)...))
	}
	for _, f := range s.Findings {
		if isNews(f) {
			each = append(each, append([]string{Escape(string(f.ID))}, findingLines(f)...))
		}
	}
	var all []string
	for _, one := range each {
		room := max(1, (screenful-2)/len(each))
		for i, text := range one[:min(len(one), room)] {
			if i > 0 {
				text = "    " + text
			}
			all = append(all, text)
		}
	}
	return all
}
