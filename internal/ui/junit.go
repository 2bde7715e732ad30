package ui

import (
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"toa.io/toa/orchestrator"
)

// junit writes a run as JUnit XML when it has ended: a test case for each image,
// which fails where the image did or the audit condemns it. One that was not
// tried, or is not reproducible, counts as skipped: it shows, and breaks nothing.
type junit struct {
	mu    sync.Mutex // guards all below
	file  io.WriteCloser
	board *board
	err   error
}

// CreateJUnit makes a sink that writes JUnit XML to path.
func CreateJUnit(path string) (Sink, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("open JUnit report: %w", err)
	}
	return &junit{file: file, board: newBoard()}, nil
}

func (j *junit) Observe(event orchestrator.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.board.summary == nil {
		j.board.apply(event)
	}
}

func (j *junit) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return j.err
	}
	text, err := xml.MarshalIndent(suitesOf(j.board), "", "  ")
	if err == nil {
		_, err = io.WriteString(j.file, xml.Header+string(text)+"\n")
	}
	if closed := j.file.Close(); err == nil {
		err = closed
	}
	j.file = nil
	if err != nil {
		j.err = fmt.Errorf("write JUnit report: %w", err)
	}
	return j.err
}

// What of the format is read by GitHub's, GitLab's and Jenkins' plug-ins.
type (
	suites struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []suite  `xml:"testsuite"`
	}
	suite struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     string `xml:"time,attr"`
		Cases    []test `xml:"testcase"`
		// Log is what a run that ended early or was not released says.
		Log string `xml:"system-err,omitempty"`
	}
	test struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Time    string      `xml:"time,attr"`
		Failure *outcomeXML `xml:"failure"`
		Skipped *outcomeXML `xml:"skipped"`
	}
	outcomeXML struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

func suitesOf(b *board) suites {
	one := suite{Name: Escape(b.context), Time: secondsXML(0)}
	for _, im := range b.order {
		c := caseOf(b.context, im)
		one.Tests++
		if c.Failure != nil {
			one.Failures++
		} else if c.Skipped != nil {
			one.Skipped++
		}
		one.Cases = append(one.Cases, c)
	}
	switch s := b.summary; {
	case s == nil:
		one.Errors, one.Log = 1, "the run ended before its summary"
	case !s.OK && one.Failures == 0:
		one.Errors, one.Log = 1, strings.Join(lines(errorText(s.Err)), "\n")
	}
	if b.summary != nil {
		one.Time = secondsXML(b.summary.Elapsed)
	}
	return suites{Suites: []suite{one}}
}

func caseOf(context string, im *image) test {
	c := test{Class: Escape(context + "." + im.id.Kind()), Name: Escape(string(im.id)), Time: secondsXML(im.elapsed)}
	switch {
	case im.status == orchestrator.StatusFailed:
		c.Failure = &outcomeXML{Message: "failed", Type: "build", Text: strings.Join(append(im.failure(), im.log...), "\n")}
	case im.finding.Verdict.Condemns():
		c.Failure = audited(im.finding)
	case im.finding.Verdict == orchestrator.VerdictNotReproducible:
		c.Skipped = audited(im.finding)
	case im.status == orchestrator.StatusSkipped:
		c.Skipped = &outcomeXML{Message: "not tried"}
	case im.status == orchestrator.StatusQueued || im.isRunning():
		c.Skipped = &outcomeXML{Message: "not finished"}
	}
	return c
}

func audited(f orchestrator.Finding) *outcomeXML {
	told := findingLines(f)
	return &outcomeXML{Message: string(f.Verdict), Type: "audit", Text: strings.Join(told, "\n")}
}

func secondsXML(d time.Duration) string { return fmt.Sprintf("%.3f", max(d, 0).Seconds()) }
