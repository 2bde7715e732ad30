package ui

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"toa.io/toa/orchestrator"
)

// frameTime is the shortest time between two frames.
const frameTime = 100 * time.Millisecond

// live shows what is going on at the foot of a terminal. Frames are drawn by
// one goroutine, which ends with Close.
type live struct {
	mu     sync.Mutex // guards all below
	board  *board
	screen *screen
	stdout output
	scroll []line // finished, not yet on the screen
	began  time.Time
	frame  int

	stop sync.Once
	quit chan struct{}
	done chan struct{}
}

func newLive(stdout io.Writer, screen *screen) *live {
	l := &live{
		board:  newBoard(),
		screen: screen,
		stdout: output{w: stdout},
		began:  time.Now(),
		quit:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	go l.animate()
	return l
}

func (l *live) animate() {
	defer close(l.done)
	tick := time.NewTicker(frameTime)
	defer tick.Stop()
	for {
		select {
		case <-l.quit:
			return
		case <-tick.C:
			l.draw()
		}
	}
}

func (l *live) draw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.board.summary != nil || len(l.board.order)+len(l.scroll)+len(l.board.rollout.workloads) == 0 {
		return
	}
	l.screen.draw(l.scroll, l.rows)
	l.scroll = nil
	l.frame++
}

func (l *live) Observe(event orchestrator.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.board.summary != nil {
		return
	}
	im := l.board.apply(event)
	switch e := event.(type) {
	case orchestrator.ImageEvent:
		l.scroll = append(l.scroll, l.finished(im)...)
	case orchestrator.AuditEvent:
		l.scroll = append(l.scroll, l.audited(e.Finding)...)
	case orchestrator.NoticeEvent:
		for _, text := range lines(e.Text) {
			l.scroll = append(l.scroll, line{{yellow, "  ! "}, {normal, text}})
		}
	case orchestrator.SummaryEvent:
		l.screen.end(append(l.scroll, l.result(e.Summary)...))
		if e.Summary.OK {
			l.stdout.write(references(e.Summary))
		}
	}
}

// Close gives the terminal back. Without a summary (the run was interrupted,
// or ended before it began) what was finished stays and nothing else does.
func (l *live) Close() error {
	l.stop.Do(func() { close(l.quit) })
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.board.summary == nil {
		l.screen.end(l.scroll)
		l.scroll = nil
		l.board.summary = &orchestrator.Summary{}
	}
	if l.screen.out.err != nil {
		return fmt.Errorf("write to terminal: %w", l.screen.out.err)
	}
	if l.stdout.err != nil {
		return fmt.Errorf("write references: %w", l.stdout.err)
	}
	return nil
}

// rows is the region: a header, and the images at work or the workloads that are
// waited for, as many as fit.
func (l *live) rows(width, height int) []line {
	var rows, work []line
	if l.board.total > 0 {
		rows = append(rows, l.header(width))
		for _, im := range l.board.running() {
			work = append(work, l.working(im))
		}
	}
	if len(l.board.rollout.workloads) > 0 {
		rows = append(rows, l.rollout())
		for _, w := range l.board.rollout.waiting() {
			work = append(work, l.waiting(w))
		}
	}
	room := max(height-len(rows), 0)
	if len(work) > room {
		room = max(room-1, 0)
	}
	rows = append(rows, work[:min(len(work), room)]...)
	if more := len(work) - room; more > 0 && height > 1 {
		rows = append(rows, line{{dim, fmt.Sprintf("    and %d more", more)}})
	}
	return rows[:min(len(rows), max(height, 1))]
}

// rollout is the header of the workloads.
func (l *live) rollout() line {
	return line{{bold, "  release"}, {normal, "  " + l.board.rollout.counts()}}
}

// waiting is one workload that is not ready.
func (l *live) waiting(w orchestrator.Workload) line {
	row := line{
		{cyan, fmt.Sprintf("  %c ", spinner[l.frame%len(spinner)])},
		{normal, Escape(w.Kind) + " " + Escape(w.Name)},
		{normal, fmt.Sprintf("  %d/%d", w.Ready, w.Desired)},
	}
	if w.Reason != "" {
		row = append(row, span{yellow, "  " + Escape(w.Reason)})
	}
	return row
}

const barCells = 24

// header is the bar and the counts.
func (l *live) header(width int) line {
	tally := l.board.tally()
	failed := tally[orchestrator.StatusFailed]
	done := tally[orchestrator.StatusCached] + tally[orchestrator.StatusPublished] + failed + tally[orchestrator.StatusSkipped]
	counts := fmt.Sprintf("%d/%d", done, l.board.total)
	if n := tally[orchestrator.StatusCached]; n > 0 {
		counts += fmt.Sprintf("  %d cached", n)
	}
	row := line{{bold, "  " + Escape(l.board.context)}, {normal, "  "}}
	if width >= 60 {
		row = append(row, bar(done, l.board.total)...)
	}
	row = append(row, span{normal, "  " + counts})
	if failed > 0 {
		row = append(row, span{red, fmt.Sprintf("  %d failed", failed)})
	}
	if done == l.board.total {
		row = append(row, span{dim, "  finishing"}) // the release goes on without an image
	}
	return append(row, span{dim, "  " + seconds(time.Since(l.began))})
}

func bar(done, total int) line {
	full := barCells
	if total > 0 {
		full = barCells * done / total
	}
	return line{{green, strings.Repeat("━", full)}, {dim, strings.Repeat("─", barCells-full)}}
}

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// working is one image at work: what it does, for how long, and the last line
// of its log or why it is built.
func (l *live) working(im *image) line {
	detail := Escape(im.reason)
	if n := len(im.log); n > 0 {
		detail = im.log[n-1]
	}
	return line{
		{cyan, fmt.Sprintf("  %c ", spinner[l.frame%len(spinner)])},
		{normal, l.board.title(im)},
		{normal, fmt.Sprintf("  %-10s %6s", im.status, seconds(time.Since(im.began)))},
		{dim, "  " + detail},
	}
}

// finished are the lines that stay of an image that has come to its end.
func (l *live) finished(im *image) []line {
	switch im.status {
	case orchestrator.StatusPublished:
		return []line{l.success(im)}
	case orchestrator.StatusFailed:
		return l.failure(im)
	}
	return nil
}

func (l *live) success(im *image) line {
	return line{
		{green, "  ✓ "},
		{normal, l.board.title(im)},
		{normal, "  " + im.done()},
		{dim, "  " + Escape(im.reason)},
	}
}

func (l *live) failure(im *image) []line {
	rows := []line{{{red, "  ✗ "}, {bold, l.board.title(im)}, {red, "  " + im.done()}}}
	for _, text := range im.failure() {
		rows = append(rows, line{{normal, "      " + text}})
	}
	for _, text := range im.log {
		rows = append(rows, line{{dim, "    │ " + text}})
	}
	return rows
}

// audited are the lines of an image that the audit has something to say of.
func (l *live) audited(f orchestrator.Finding) []line {
	if !isNews(f) {
		return nil
	}
	mark, told := span{yellow, "  ! "}, findingLines(f)
	if f.Verdict.Condemns() {
		mark = span{red, "  ✗ "}
	}
	rows := []line{{mark, {bold, Escape(string(f.ID))}, {normal, "  " + told[0]}}}
	for _, text := range told[1:] {
		rows = append(rows, line{{normal, "    " + text}})
	}
	return rows
}

// result is what a person wants to know at the end.
func (l *live) result(s orchestrator.Summary) []line {
	var rows []line
	for _, im := range l.board.with(orchestrator.StatusBuilt) {
		rows = append(rows, l.success(im))
	}
	if skipped := l.board.with(orchestrator.StatusSkipped); len(skipped) > 0 {
		rows = append(rows, line{{yellow, "  - not tried  "}, {normal, names(skipped, 10)}})
	}
	if l.board.isNews() {
		rows = append(rows, line{})
	}
	mark := span{green, "  ✓ "}
	if !s.OK {
		mark = span{red, "  ✗ "}
	}
	rows = append(rows,
		line{mark, {bold, Escape(l.board.context)}, {normal, "  " + outcome(s) + " in " + seconds(s.Elapsed)}},
		line{{dim, "    registry  "}, {normal, asked(s)}},
	)
	if len(s.Findings) > 0 {
		rows = append(rows, line{{dim, "    audit     "}, {normal, verdicts(s.Findings)}})
	}
	for _, pace := range slower(s.Paces) {
		rows = append(rows, line{{dim, "    slower    "}, {normal, paceLine(pace)}})
	}
	return append(rows, releaseRows(s)...)
}

func asked(s orchestrator.Summary) string {
	if s.RegistryRequests == 0 {
		return "not asked"
	}
	return traffic(s)
}

func releaseRows(s orchestrator.Summary) []line {
	if s.Release.Status == "" || s.Release.Status == orchestrator.ReleaseNone {
		if s.OK {
			return nil
		}
		return []line{{{dim, "    release   "}, {normal, "not made"}}}
	}
	text := strings.Split(strings.TrimSuffix(released("", s.Release), "\n"), "\n")
	rows := []line{{{dim, "    release   "}, {normal, text[0]}}}
	for _, more := range text[1:] {
		rows = append(rows, line{{dim, "              "}, {normal, more}})
	}
	return rows
}
