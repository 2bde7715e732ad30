package buildkit

import (
	"bytes"
	"strings"

	"github.com/moby/buildkit/client"
	"github.com/opencontainers/go-digest"
	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

// told is how many lines of a step that failed go into its error, at most.
const told = 20

// journal passes on what an engine says of one image, line by line, and
// remembers how each step ended.
type journal struct {
	id      graph.ID
	observe orchestrator.Observe
	mask    *strings.Replacer

	ended chan struct{}
	steps map[digest.Digest]*progress
}

// progress is one step of the engine.
type progress struct {
	name, failure  string
	started, ended bool
	rest           []byte // of a line that has no end yet
	tail           []string
	npm            []string // the first that npm says of what went wrong
}

// said is what tells most of what a step said: the end of it, or where npm says
// what went wrong, which it follows up with pages of usage.
func (p *progress) said() []string {
	if len(p.npm) > 0 {
		return p.npm
	}
	return p.tail
}

// follow is where the engine's client puts what it hears. It closes it in the end.
func (j *journal) follow() chan *client.SolveStatus {
	j.ended, j.steps = make(chan struct{}), map[digest.Digest]*progress{}
	statuses := make(chan *client.SolveStatus)
	go func() {
		defer close(j.ended)
		for status := range statuses {
			j.note(status)
		}
		for _, step := range j.steps {
			j.flush(step)
		}
	}()
	return statuses
}

// wait returns when everything that was heard is passed on.
func (j *journal) wait() { <-j.ended }

func (j *journal) note(status *client.SolveStatus) {
	for _, v := range status.Vertexes {
		j.vertex(v)
	}
	for _, l := range status.Logs {
		j.output(j.step(l.Vertex), l.Data)
	}
}

func (j *journal) step(of digest.Digest) *progress {
	if j.steps[of] == nil {
		j.steps[of] = &progress{}
	}
	return j.steps[of]
}

// vertex says when a step begins, and how it ends unless that is well. Steps
// that are the engine's own business have names in brackets.
func (j *journal) vertex(v *client.Vertex) {
	step := j.step(v.Digest)
	step.name = v.Name
	if step.failure == "" {
		step.failure = v.Error
	}
	if v.Started != nil && !step.started && !v.Cached {
		step.started = true
		j.say(v.Name)
	}
	if v.Completed == nil || step.ended {
		return
	}
	step.ended = true
	j.flush(step)
	if v.Cached {
		j.say(v.Name + ": cached")
	}
}

func (j *journal) output(step *progress, data []byte) {
	step.rest = append(step.rest, data...)
	for {
		line, rest, whole := bytes.Cut(step.rest, []byte("\n"))
		if !whole {
			return
		}
		step.rest = rest
		j.line(step, string(line))
	}
}

func (j *journal) flush(step *progress) {
	if len(step.rest) > 0 {
		j.line(step, string(step.rest))
		step.rest = nil
	}
}

// line passes a line on, without secrets, and keeps the last ones.
func (j *journal) line(step *progress, text string) {
	text = strings.TrimSuffix(j.mask.Replace(text), "\r")
	if isNPM(text) && len(step.npm) < told {
		step.npm = append(step.npm, text)
	}
	step.tail = append(step.tail, text)
	if len(step.tail) > told {
		step.tail = step.tail[1:]
	}
	j.say(text)
}

// isNPM tells whether a line is of an error of npm, which was "npm ERR!" before
// version 10.
func isNPM(line string) bool {
	return strings.HasPrefix(line, "npm error ") || strings.HasPrefix(line, "npm ERR! ")
}

func (j *journal) say(text string) {
	if j.observe != nil {
		j.observe(orchestrator.LogEvent{ID: j.id, Stream: "stderr", Text: text})
	}
}
