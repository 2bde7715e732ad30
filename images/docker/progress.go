package docker

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"

	"toa.io/toa/images"
	"toa.io/toa/internal/lazyregexp"
	"toa.io/toa/orchestrator"
)

// progress follows what `--progress plain` says: it passes lines on and keeps
// what an error would need.
type progress struct {
	step    orchestrator.Step
	hide    *strings.Replacer
	observe orchestrator.Observe

	mu     sync.Mutex // guards the fields below
	runs   map[string]*vertex
	failed *vertex
	source string // the failed instruction as the Dockerfile has it
	last   []string
}

// vertex is one instruction of the Dockerfile while it runs.
type vertex struct {
	instruction string
	said        []string
	reason      string
}

func newProgress(s stage, observe orchestrator.Observe) *progress {
	return &progress{step: s.step, hide: s.content.Redactor(), observe: observe, runs: map[string]*vertex{}}
}

// vertexLine is "#7 …": 1 is the number, 2 the rest.
var vertexLine = lazyregexp.New(`^#(\d+) (.*)$`)

// headLine is "[2/5] RUN …", "[linux/amd64 2/5] RUN …" or "[stage 2/5] RUN …".
var headLine = lazyregexp.New(`^\[[^\]]*\d+/\d+\] (RUN .*)$`)

// sourceLine is `  12 | >>> RUN …`, after a failure. Only there variables of the
// instruction are not expanded.
var sourceLine = lazyregexp.New(`^ *\d+ \| >>> (RUN .*)$`)

// timeBefore is the time that BuildKit puts before each line of output.
var timeBefore = lazyregexp.New(`^\d+\.\d+ `)

// line takes one line of output. Calls may overlap.
func (p *progress) line(stream, text string) {
	text = p.hide.Replace(text)
	p.note(text)
	if p.observe != nil && text != "" {
		p.observe(orchestrator.LogEvent{ID: p.step.ID, Stream: stream, Text: text})
	}
}

func (p *progress) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = keepLast(p.last, text)
	if source := sourceLine.FindStringSubmatch(text); source != nil {
		p.source = source[1]
	}
	parts := vertexLine.FindStringSubmatch(text)
	if parts == nil {
		return
	}
	number, rest := parts[1], parts[2]
	if head := headLine.FindStringSubmatch(rest); head != nil {
		if p.runs[number] == nil {
			p.runs[number] = &vertex{instruction: head[1]}
		}
		return
	}
	one := p.runs[number]
	if one == nil {
		return
	}
	if reason, ok := strings.CutPrefix(rest, "ERROR: "); ok {
		one.reason = exitOf(reason)
		p.failed = one
		return
	}
	one.said = keepLast(one.said, timeBefore.ReplaceAllString(rest, ""))
}

// exitOf is the end of `process "…" did not complete successfully: exit code: 1`.
func exitOf(reason string) string {
	if _, end, ok := strings.Cut(reason, "did not complete successfully: "); ok {
		return end
	}
	return reason
}

func keepLast(all []string, text string) []string {
	all = append(all, text)
	return all[max(0, len(all)-images.MaxSaid):]
}

// explain says in our words why docker failed.
func (p *progress) explain(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := explain(p.last, err)
	var own *Error
	if errors.As(known, &own) && p.failed != nil {
		return images.NewRunError(p.step, cmp.Or(p.source, p.failed.instruction), p.failed.reason, slices.Clone(p.failed.said))
	}
	return known
}
