package ui

import (
	"errors"
	"slices"
	"strings"
	"time"

	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

const (
	// keptLines is how many lines of an image's log are kept for its failure.
	keptLines = 20
	// keptBytes is how much of one line is kept.
	keptBytes = 2000
	// maxLabel is how many cells an ID may take before a list gives up aligning.
	maxLabel = 40
)

// board is what events have told so far. Its owner guards it.
type board struct {
	context string
	total   int
	label   int // cells that an ID takes in a list
	images  map[graph.ID]*image
	order   []*image // as planned, then as they appeared
	notices []string
	rollout rollout
	release orchestrator.Release
	summary *orchestrator.Summary // nil until the run has ended
}

// image is what is known of one image.
type image struct {
	id        graph.ID
	status    string
	reason    string
	reference orchestrator.Reference
	elapsed   time.Duration // as of the last event
	err       error
	log       []string // the last keptLines lines, safe to show
	seen      time.Time
	began     time.Time // when it left the queue; zero before
	built     bool
	finding   orchestrator.Finding // zero where nothing was audited
}

func newBoard() *board { return &board{images: map[graph.ID]*image{}} }

// apply takes one event in and returns the image that it is about, if any.
func (b *board) apply(event orchestrator.Event) *image {
	switch e := event.(type) {
	case orchestrator.PlanEvent:
		b.planned(e.Plan)
	case orchestrator.ImageEvent:
		return b.moved(e)
	case orchestrator.LogEvent:
		return b.logged(e)
	case orchestrator.AuditEvent:
		im := b.image(e.Finding.ID)
		im.finding = e.Finding
		return im
	case orchestrator.NoticeEvent:
		b.notices = append(b.notices, e.Text)
	case orchestrator.RolloutEvent:
		b.rollout = rollout{e.Workloads}
	case orchestrator.ReleaseEvent:
		b.release = e.Release
	case orchestrator.SummaryEvent:
		b.end(e.Summary)
	}
	return nil
}

// end marks what a run that did not end well has left undone.
func (b *board) end(summary orchestrator.Summary) {
	b.summary = &summary
	for _, im := range b.order {
		if !summary.OK && (im.status == orchestrator.StatusQueued || im.isRunning()) {
			im.status = orchestrator.StatusSkipped
		}
	}
}

func (b *board) planned(plan *orchestrator.Plan) {
	b.context = plan.Context
	b.total = len(plan.Steps)
	for _, step := range plan.Steps {
		im := b.image(step.ID)
		im.reason, im.reference = step.Reason, step.Reference
		if step.Cached {
			im.status = orchestrator.StatusCached
			continue
		}
		b.label = max(b.label, min(width(Escape(string(im.id))), maxLabel))
	}
}

func (b *board) moved(e orchestrator.ImageEvent) *image {
	im := b.image(e.ID)
	if im.began.IsZero() && e.Status != orchestrator.StatusQueued {
		im.began = time.Now().Add(-e.Elapsed)
	}
	im.status, im.elapsed, im.seen = e.Status, e.Elapsed, time.Now()
	im.built = im.built || e.Status == orchestrator.StatusBuilt
	if e.Reason != "" {
		im.reason = e.Reason
	}
	if e.Reference.Repository != "" {
		im.reference = e.Reference
	}
	if e.Err != nil {
		im.err = e.Err
	}
	return im
}

func (b *board) logged(e orchestrator.LogEvent) *image {
	im := b.image(e.ID)
	for _, line := range lines(e.Text) {
		im.log = append(im.log, strings.ToValidUTF8(line[:min(len(line), keptBytes)], ""))
	}
	if extra := len(im.log) - keptLines; extra > 0 {
		im.log = slices.Delete(im.log, 0, extra)
	}
	return im
}

func (b *board) image(id graph.ID) *image {
	im := b.images[id]
	if im == nil {
		im = &image{id: id, status: orchestrator.StatusQueued}
		b.images[id] = im
		b.order = append(b.order, im)
		b.total = max(b.total, len(b.order))
	}
	return im
}

// tally counts images by status.
func (b *board) tally() map[string]int {
	by := map[string]int{}
	for _, im := range b.order {
		by[im.status]++
	}
	return by
}

// running lists the images at work, the longest running first.
func (b *board) running() []*image {
	var list []*image
	for _, im := range b.order {
		if im.isRunning() {
			list = append(list, im)
		}
	}
	slices.SortStableFunc(list, func(a, b *image) int { return a.began.Compare(b.began) })
	return list
}

// isNews tells whether there was anything but cached images.
func (b *board) isNews() bool {
	return len(b.notices) > 0 || len(b.rollout.workloads) > 0 || b.tally()[orchestrator.StatusCached] < len(b.order)
}

// with lists the images of a status in order.
func (b *board) with(status string) []*image {
	var list []*image
	for _, im := range b.order {
		if im.status == status {
			list = append(list, im)
		}
	}
	return list
}

// title is the image's ID, padded so that what follows is aligned.
func (b *board) title(im *image) string { return pad(Escape(string(im.id)), b.label) }

func (im *image) isRunning() bool {
	switch im.status {
	case orchestrator.StatusBuilding, orchestrator.StatusBuilt, orchestrator.StatusPublishing:
		return true
	}
	return false
}

// done says how the image ended: "built in 0.4s", "failed after 3.0s".
func (im *image) done() string {
	switch im.status {
	case orchestrator.StatusFailed:
		return "failed after " + seconds(im.elapsed)
	case orchestrator.StatusPublished:
		if !im.built {
			return "published in " + seconds(im.elapsed)
		}
	}
	return "built in " + seconds(im.elapsed)
}

// failure is the text of the image's error and how to mend it, as lines that are
// safe to show.
func (im *image) failure() []string {
	if im.err == nil {
		return nil
	}
	told := lines(im.err.Error())
	if hint := HintOf(im.err); hint != "" {
		told = append(told, lines(hint)...)
	}
	return told
}

// HintOf is how to mend an error, empty where nobody knows.
func HintOf(err error) string {
	var hinted interface{ Hint() string }
	if !errors.As(err, &hinted) {
		return ""
	}
	return hinted.Hint()
}

// names lists IDs, but not more than limit.
func names(images []*image, limit int) string {
	var list []string
	for _, im := range images[:min(len(images), limit)] {
		list = append(list, Escape(string(im.id)))
	}
	text := strings.Join(list, ", ")
	if more := len(images) - limit; more > 0 {
		text += " and " + count(more, "other")
	}
	return text
}
