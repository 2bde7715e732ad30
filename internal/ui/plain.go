package ui

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"toa.io/toa/orchestrator"
)

// plain writes lines: what was done to stderr, references to stdout.
type plain struct {
	mu     sync.Mutex // guards all below
	board  *board
	news   news
	stdout output
	stderr output
}

func newPlain(stdout, stderr io.Writer) *plain {
	return &plain{board: newBoard(), stdout: output{w: stdout}, stderr: output{w: stderr}}
}

func (p *plain) Observe(event orchestrator.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.board.summary != nil {
		return
	}
	im := p.board.apply(event)
	switch e := event.(type) {
	case orchestrator.PlanEvent:
		p.stderr.printf("plan: %s\n", planned(e.Plan))
	case orchestrator.ImageEvent:
		p.image(im)
	case orchestrator.AuditEvent:
		p.audited(e.Finding)
	case orchestrator.NoticeEvent:
		p.stderr.printf("notice: %s\n", strings.Join(lines(e.Text), "\n    "))
	case orchestrator.RolloutEvent:
		if p.news.is(p.board.rollout, time.Now()) {
			p.stderr.printf("rollout: %s\n", p.board.rollout.line())
		}
	case orchestrator.ReleaseEvent:
		p.stderr.write(released("release: ", e.Release))
	case orchestrator.SummaryEvent:
		p.end(e.Summary)
	}
}

// image writes the one line of an image that has come to its end.
func (p *plain) image(im *image) {
	switch im.status {
	case orchestrator.StatusPublished:
		p.finished(im)
	case orchestrator.StatusFailed:
		p.stderr.printf("%s  %s\n", p.board.title(im), im.done())
		for _, line := range im.failure() {
			p.stderr.printf("    %s\n", line)
		}
		for _, line := range im.log {
			p.stderr.printf("    | %s\n", line)
		}
	}
}

func (p *plain) audited(f orchestrator.Finding) {
	if !isNews(f) {
		return
	}
	for i, text := range findingLines(f) {
		if i == 0 {
			text = Escape(string(f.ID)) + "  " + text
		}
		p.stderr.printf("%s\n", text)
	}
}

func (p *plain) finished(im *image) {
	because := ""
	if im.reason != "" {
		because = "  because " + Escape(im.reason)
	}
	p.stderr.printf("%s  %s%s\n", p.board.title(im), im.done(), because)
}

func (p *plain) end(summary orchestrator.Summary) {
	for _, im := range p.board.with(orchestrator.StatusBuilt) {
		p.finished(im) // a run that publishes nothing leaves images here
	}
	if skipped := p.board.with(orchestrator.StatusSkipped); len(skipped) > 0 {
		p.stderr.printf("not tried: %s\n", names(skipped, 10))
	}
	for _, pace := range slower(summary.Paces) {
		p.stderr.printf("slower: %s\n", paceLine(pace))
	}
	if len(summary.Findings) > 0 {
		p.stderr.printf("audit: %s\n", verdicts(summary.Findings))
	}
	verdict := "done"
	if !summary.OK {
		verdict = "failed"
	}
	p.stderr.printf("%s: %s in %s; registry: %s\n", verdict, outcome(summary), seconds(summary.Elapsed), traffic(summary))
	if summary.OK {
		p.stdout.write(references(summary))
	}
}

func (p *plain) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stderr.err != nil {
		return fmt.Errorf("write progress: %w", p.stderr.err)
	}
	if p.stdout.err != nil {
		return fmt.Errorf("write references: %w", p.stdout.err)
	}
	return nil
}

// planned counts what a plan would do: "4 images, 3 cached, 1 to build".
func planned(plan *orchestrator.Plan) string {
	build := 0
	for _, step := range plan.Steps {
		if !step.Cached {
			build++
		}
	}
	return fmt.Sprintf("%s, %d cached, %d to build", count(len(plan.Steps), "image"), len(plan.Steps)-build, build)
}

// outcome counts what a run did, the worst first and without what is zero.
func outcome(s orchestrator.Summary) string {
	var parts []string
	for _, part := range []struct {
		n    int
		verb string
	}{{s.Failed, "failed"}, {s.Built, "built"}, {s.Skipped, "not tried"}, {s.Cached, "cached"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.verb))
		}
	}
	if len(parts) == 0 {
		return "nothing built"
	}
	return strings.Join(parts, ", ")
}

func traffic(s orchestrator.Summary) string {
	return fmt.Sprintf("%s, %s sent", count(s.RegistryRequests, "request"), size(s.BytesPushed))
}

// released writes how a release ended, and the command that would apply it.
func released(label string, r orchestrator.Release) string {
	parts := []string{Escape(r.Status)}
	if r.Revision > 0 {
		parts = append(parts, fmt.Sprintf("revision %d", r.Revision))
	}
	if r.Namespace != "" {
		parts = append(parts, "in "+Escape(r.Namespace))
	}
	if r.Server != "" {
		parts = append(parts, "at "+Escape(r.Server))
	}
	if r.Chart != "" {
		parts = append(parts, Escape(r.Chart))
	}
	if r.Reference != "" {
		parts = append(parts, "published as "+Escape(r.Reference))
	}
	text := label + strings.Join(parts, "  ") + "\n"
	if r.Command != "" {
		text += "apply it with: " + Escape(r.Command) + "\n"
	}
	return text
}

// references writes "ID reference" a line, by ID: the part for scripts.
func references(s orchestrator.Summary) string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(s.References)) {
		fmt.Fprintf(&b, "%s %s\n", Escape(string(id)), Escape(s.References[id].String()))
	}
	return b.String()
}
