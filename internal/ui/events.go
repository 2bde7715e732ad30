package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

// events writes one JSON object a line, and always a summary as the last.
type events struct {
	mu    sync.Mutex // guards all below
	out   output
	ended bool
}

func newEvents(stdout io.Writer) *events { return &events{out: output{w: stdout}} }

func (s *events) Observe(event orchestrator.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	switch e := event.(type) {
	case orchestrator.PlanEvent:
		s.send(planLine{stamp: now("plan"), planJSON: describe(e.Plan)})
	case orchestrator.ImageEvent:
		s.send(imageLineOf(e))
	case orchestrator.LogEvent:
		s.send(logLine{stamp: now("log"), Image: e.ID, Stream: e.Stream, Text: e.Text})
	case orchestrator.RolloutEvent:
		s.send(rolloutLine{stamp: now("rollout"), Workloads: e.Workloads})
	case orchestrator.ReleaseEvent:
		s.send(releaseLine{stamp: now("release"), releaseJSON: releaseOf(e.Release)})
	case orchestrator.AuditEvent:
		s.send(auditLine{stamp: now("audit"), auditJSON: auditOf(e.Finding)})
	case orchestrator.NoticeEvent:
		s.send(noticeLine{stamp: now("notice"), Text: e.Text})
	case orchestrator.SummaryEvent:
		s.ended = true
		s.send(summaryLineOf(e.Summary))
	}
}

func (s *events) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		s.send(summaryLineOf(orchestrator.Summary{Err: errors.New("the run ended before its summary")}))
	}
	if s.out.err != nil {
		return fmt.Errorf("write events: %w", s.out.err)
	}
	return nil
}

func (s *events) send(line any) {
	data, err := encode(line, "")
	if err != nil {
		s.out.err = errors.Join(s.out.err, err)
		return
	}
	s.out.write(string(data))
}

// stamp begins every line.
type stamp struct {
	Time  time.Time `json:"time"`
	Event string    `json:"event"`
}

func now(event string) stamp { return stamp{Time: time.Now().UTC(), Event: event} }

type (
	planLine struct {
		stamp
		planJSON
	}
	imageLine struct {
		stamp
		ID        graph.ID `json:"id"`
		Kind      string   `json:"kind"`
		Status    string   `json:"status"`
		Reference string   `json:"reference,omitempty"`
		Digest    string   `json:"digest,omitempty"`
		Reason    string   `json:"reason,omitempty"`
		Seconds   float64  `json:"seconds"`
		Error     string   `json:"error,omitempty"`
	}
	logLine struct {
		stamp
		Image  graph.ID `json:"image"`
		Stream string   `json:"stream"`
		Text   string   `json:"text"`
	}
	rolloutLine struct {
		stamp
		Workloads []orchestrator.Workload `json:"workloads"`
	}
	releaseLine struct {
		stamp
		releaseJSON
	}
	auditLine struct {
		stamp
		auditJSON
	}
	noticeLine struct {
		stamp
		Text string `json:"text"`
	}
	summaryLine struct {
		stamp
		OK               bool                `json:"ok"`
		Images           imagesJSON          `json:"images"`
		RegistryRequests int64               `json:"registryRequests"`
		BytesPushed      int64               `json:"bytesPushed"`
		References       map[graph.ID]string `json:"references"`
		Release          releaseJSON         `json:"release"`
		Seconds          float64             `json:"seconds"`
		Failures         map[graph.ID]string `json:"failures,omitempty"`
		Audit            map[string]int      `json:"audit,omitempty"`
		Paces            []paceJSON          `json:"paces,omitempty"`
		Error            string              `json:"error,omitempty"`
	}
	auditJSON struct {
		ID        graph.ID         `json:"id"`
		Verdict   string           `json:"verdict"`
		Text      string           `json:"text"`
		Published string           `json:"published,omitempty"`
		Rebuilt   string           `json:"rebuilt"`
		Indexed   string           `json:"indexed,omitempty"`
		Differing int              `json:"differing,omitempty"`
		Differs   []differenceJSON `json:"differences,omitempty"`
	}
	differenceJSON struct {
		Platform string `json:"platform,omitempty"`
		Part     string `json:"part"`
		Path     string `json:"path,omitempty"`
		What     string `json:"what"`
	}
	paceJSON struct {
		ID      graph.ID `json:"id"`
		Seconds float64  `json:"seconds"`
		Median  float64  `json:"median,omitempty"`
		Runs    int      `json:"runs"`
		Slower  bool     `json:"slower,omitempty"`
	}
	imagesJSON struct {
		Total   int `json:"total"`
		Cached  int `json:"cached"`
		Built   int `json:"built"`
		Failed  int `json:"failed"`
		Skipped int `json:"skipped,omitempty"`
	}
	releaseJSON struct {
		Status    string `json:"status"`
		Revision  int    `json:"revision,omitempty"`
		Namespace string `json:"namespace,omitempty"`
		Server    string `json:"server,omitempty"`
		Chart     string `json:"chart,omitempty"`
		Reference string `json:"reference,omitempty"`
		Command   string `json:"command,omitempty"`
	}
)

func imageLineOf(e orchestrator.ImageEvent) imageLine {
	return imageLine{
		stamp:     now("image"),
		ID:        e.ID,
		Kind:      e.ID.Kind(),
		Status:    e.Status,
		Reference: referenceText(e.Reference),
		Digest:    e.Reference.Digest,
		Reason:    e.Reason,
		Seconds:   e.Elapsed.Seconds(),
		Error:     errorText(e.Err),
	}
}

func summaryLineOf(s orchestrator.Summary) summaryLine {
	line := summaryLine{
		stamp:            now("summary"),
		OK:               s.OK,
		Images:           imagesJSON{s.Total, s.Cached, s.Built, s.Failed, s.Skipped},
		RegistryRequests: s.RegistryRequests,
		BytesPushed:      s.BytesPushed,
		References:       map[graph.ID]string{},
		Release:          releaseOf(s.Release),
		Seconds:          s.Elapsed.Seconds(),
		Failures:         map[graph.ID]string{},
		Error:            errorText(s.Err),
	}
	for id, reference := range s.References {
		line.References[id] = reference.String()
	}
	for id, err := range s.Failures {
		line.Failures[id] = errorText(err)
	}
	for _, f := range s.Findings {
		if line.Audit == nil {
			line.Audit = map[string]int{}
		}
		line.Audit[string(f.Verdict)]++
	}
	for _, p := range s.Paces {
		line.Paces = append(line.Paces, paceJSON{p.ID, p.Took.Seconds(), p.Median.Seconds(), p.Runs, p.Slower()})
	}
	return line
}

func auditOf(f orchestrator.Finding) auditJSON {
	a := auditJSON{
		ID: f.ID, Verdict: string(f.Verdict), Text: f.Text(),
		Published: f.Published, Rebuilt: f.Rebuilt, Indexed: f.Indexed, Differing: f.Differing,
	}
	for _, d := range f.Differences {
		a.Differs = append(a.Differs, differenceJSON(d))
	}
	return a
}

func releaseOf(r orchestrator.Release) releaseJSON {
	if r.Status == "" {
		r.Status = orchestrator.ReleaseNone
	}
	return releaseJSON{
		Status: r.Status, Revision: r.Revision, Namespace: r.Namespace, Server: r.Server,
		Chart: r.Chart, Reference: r.Reference, Command: r.Command,
	}
}

func referenceText(r orchestrator.Reference) string {
	if r.Repository == "" {
		return ""
	}
	return r.String()
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// encode writes value as JSON with a line end. Runes that a terminal could act
// upon are written as \u escapes: the same JSON, harmless to look at.
func encode(value any, indent string) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode %T: %w", value, err)
	}
	return escapeJSON(b.Bytes()), nil
}

// escapeJSON needs no parser: such runes stand inside strings only.
func escapeJSON(data []byte) []byte {
	isUnsafe := func(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
	if bytes.IndexFunc(data, isUnsafe) < 0 {
		return data
	}
	safe := make([]byte, 0, len(data)+16)
	for _, r := range string(data) {
		switch {
		case !isUnsafe(r):
			safe = utf8.AppendRune(safe, r)
		case r > 0xffff:
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			safe = fmt.Appendf(safe, `\u%04x\u%04x`, high, low)
		default:
			safe = fmt.Appendf(safe, `\u%04x`, r)
		}
	}
	return safe
}
