package ui

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"toa.io/toa/orchestrator"
)

// reportRows is how many rows a table of the report may have: GitHub refuses a
// step summary of more than 1 MiB as a whole.
const reportRows = 1000

// reportScreen is how many rows are shown unasked after an audit.
const reportScreen = 20

// report writes a run as Markdown when it has ended.
type report struct {
	mu    sync.Mutex // guards all below
	file  io.WriteCloser
	board *board
	err   error
}

// CreateReport makes a sink that writes a Markdown summary to path.
func CreateReport(path string) (Sink, error) {
	return openReport(path, os.O_TRUNC)
}

// AppendReport is CreateReport for a file that others write to as well, such as
// the one that GITHUB_STEP_SUMMARY names.
func AppendReport(path string) (Sink, error) {
	return openReport(path, os.O_APPEND)
}

func openReport(path string, flag int) (Sink, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|flag, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open summary: %w", err)
	}
	return &report{file: file, board: newBoard()}, nil
}

func (r *report) Observe(event orchestrator.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.board.summary == nil {
		r.board.apply(event)
	}
}

func (r *report) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return r.err
	}
	_, err := io.WriteString(r.file, markdown(r.board))
	if closed := r.file.Close(); err == nil {
		err = closed
	}
	r.file = nil
	if err != nil {
		r.err = fmt.Errorf("write summary: %w", err)
	}
	return r.err
}

// markdown is the whole report.
func markdown(b *board) string {
	var out strings.Builder
	fmt.Fprintf(&out, "## %s\n\n", headline(b))
	var changed, cached []*image
	for _, im := range b.order {
		if im.status == orchestrator.StatusCached {
			cached = append(cached, im)
		} else {
			changed = append(changed, im)
		}
	}
	if b.summary != nil {
		out.WriteString(auditMarkdown(b.summary.Findings))
		out.WriteString(pacesMarkdown(b.summary.Paces))
	}
	out.WriteString(rebuilt(changed, b.summary))
	for _, im := range b.with(orchestrator.StatusFailed) {
		text := append(im.failure(), im.log...)
		fmt.Fprintf(&out, "### %s failed\n\n%s\n", prose(string(im.id)), fence(text))
	}
	for _, notice := range b.notices {
		fmt.Fprintf(&out, "> %s\n\n", prose(notice))
	}
	out.WriteString(releaseMarkdown(b.release))
	if waiting := b.rollout.waiting(); len(waiting) > 0 {
		fmt.Fprintf(&out, "Not ready: %s\n\n", prose(rollout{waiting}.names()))
	}
	if len(cached) > 0 {
		fmt.Fprintf(&out, "<details><summary>%s cached</summary>\n\n", count(len(cached), "image"))
		table(&out, cached)
		out.WriteString("</details>\n")
	}
	return out.String()
}

// rebuilt is the table of what was built. Where an audit found all of many
// images the same there is nothing in it that one needs to see at once.
func rebuilt(built []*image, s *orchestrator.Summary) string {
	var out strings.Builder
	table(&out, built)
	if s == nil || !s.OK || len(s.Findings) == 0 || len(built) <= reportScreen {
		return out.String()
	}
	return fmt.Sprintf("<details><summary>%s rebuilt</summary>\n\n%s</details>\n\n", count(len(built), "image"), out.String())
}

func headline(b *board) string {
	name := prose(b.context)
	switch s := b.summary; {
	case s == nil:
		return name + ": ended before its summary"
	case !s.OK:
		return fmt.Sprintf("❌ %s: %s in %s", name, outcome(*s), seconds(s.Elapsed))
	default:
		return fmt.Sprintf("✅ %s: %s in %s, %s", name, outcome(*s), seconds(s.Elapsed), traffic(*s))
	}
}

func table(out *strings.Builder, images []*image) {
	if len(images) == 0 {
		return
	}
	out.WriteString("| image | status | reason | reference | time |\n|---|---|---|---|--:|\n")
	for _, im := range images[:min(len(images), reportRows)] {
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", prose(string(im.id)), im.status,
			prose(im.reason), code(referenceText(im.reference)), timeCell(im))
	}
	if more := len(images) - reportRows; more > 0 {
		fmt.Fprintf(out, "| and %d more | | | | |\n", more)
	}
	out.WriteString("\n")
}

func timeCell(im *image) string {
	if im.elapsed == 0 {
		return ""
	}
	return seconds(im.elapsed)
}

func releaseMarkdown(r orchestrator.Release) string {
	if r.Status == "" {
		return ""
	}
	text := "Release **" + prose(r.Status) + "**"
	if r.Revision > 0 {
		text += fmt.Sprintf(", revision %d", r.Revision)
	}
	if r.Namespace != "" {
		text += " in " + code(r.Namespace)
	}
	if r.Server != "" {
		text += " at " + code(r.Server)
	}
	if r.Chart != "" {
		text += ": " + code(r.Chart)
	}
	if r.Reference != "" {
		text += ", published as " + code(r.Reference)
	}
	text += "\n\n"
	if r.Command != "" {
		text += fence([]string{Escape(r.Command)}) + "\n"
	}
	return text
}

// prose makes text plain in Markdown: nothing in it is a link, a mention, markup
// or the end of a table cell.
func prose(text string) string {
	var b strings.Builder
	for _, r := range Escape(text) {
		switch {
		case r == '@': // no backslash keeps GitHub from taking it for a mention
			b.WriteString("&#64;")
			continue
		case strings.ContainsRune("\\`*_[]<>&|~#!$", r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// code makes a code span that may stand in a table cell.
func code(text string) string {
	if text == "" {
		return ""
	}
	if strings.ContainsAny(text, "`|") {
		return prose(text)
	}
	return "`" + Escape(text) + "`"
}

// fence makes a code block of lines that are safe to show, with a fence that
// none of them contains.
func fence(text []string) string {
	body := strings.Join(text, "\n")
	mark := "```"
	for strings.Contains(body, mark) {
		mark += "`"
	}
	return mark + "text\n" + body + "\n" + mark + "\n"
}
