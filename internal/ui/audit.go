package ui

import (
	"fmt"
	"strings"

	"toa.io/toa/orchestrator"
)

// shownDifferences is how many differences of an image are told where people read.
const shownDifferences = 10

// isNews tells a finding that says more than that all is well.
func isNews(f orchestrator.Finding) bool {
	return f.Verdict == orchestrator.VerdictNotReproducible || f.Verdict.Condemns()
}

// findingLines tell what an audit has found of an image: in a line, then where
// the two images differ.
func findingLines(f orchestrator.Finding) []string {
	told := []string{Escape(string(f.Verdict) + ": " + f.Text())}
	for _, d := range f.Differences[:min(len(f.Differences), shownDifferences)] {
		told = append(told, "  "+Escape(d.String()))
	}
	if more := f.Differing - shownDifferences; more > 0 {
		told = append(told, fmt.Sprintf("  and %d more", more))
	}
	return told
}

// verdicts counts findings by verdict, the worst first: "1 missed input, 3 same".
func verdicts(findings []orchestrator.Finding) string {
	by := map[orchestrator.Verdict]int{}
	for _, f := range findings {
		by[f.Verdict]++
	}
	var parts []string
	for _, v := range []orchestrator.Verdict{
		orchestrator.VerdictWrongEntry, orchestrator.VerdictMissedInput, orchestrator.VerdictNotReproducible,
		orchestrator.VerdictNew, orchestrator.VerdictSame,
	} {
		if by[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", by[v], v))
		}
	}
	return strings.Join(parts, ", ")
}

// slower are the rebuilds that took longer than they used to.
func slower(paces []orchestrator.Pace) []orchestrator.Pace {
	var all []orchestrator.Pace
	for _, p := range paces {
		if p.Slower() {
			all = append(all, p)
		}
	}
	return all
}

func paceLine(p orchestrator.Pace) string {
	return fmt.Sprintf("%s took %s, %s more than the median of %s (%s)", Escape(string(p.ID)), seconds(p.Took), percent(p), count(p.Runs, "run"), seconds(p.Median))
}

// percent is how much longer a rebuild took than the median.
func percent(p orchestrator.Pace) string {
	return fmt.Sprintf("%.0f %%", 100*float64(p.Took-p.Median)/float64(max(p.Median, 1)))
}

// auditMarkdown is the part of the report that tells of an audit: a table of
// what is not as it should be, and below it where the images differ.
func auditMarkdown(findings []orchestrator.Finding) string {
	if len(findings) == 0 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "Audit: **%s**\n\n", verdicts(findings))
	var news []orchestrator.Finding
	for _, f := range findings {
		if isNews(f) {
			news = append(news, f)
		}
	}
	if len(news) == 0 {
		return out.String()
	}
	out.WriteString("| image | verdict | published | rebuilt | differs in |\n|---|---|---|---|---|\n")
	for _, f := range news[:min(len(news), reportRows)] {
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", prose(string(f.ID)), verdictCell(f.Verdict),
			code(orchestrator.ShortDigest(f.Published)), code(orchestrator.ShortDigest(f.Rebuilt)), differencesCell(f))
	}
	out.WriteString("\n")
	for _, f := range news[:min(len(news), reportRows)] {
		fmt.Fprintf(&out, "<details><summary>%s: %s</summary>\n\n%s</details>\n\n", prose(string(f.ID)), f.Verdict, fence(findingLines(f)))
	}
	return out.String()
}

func verdictCell(v orchestrator.Verdict) string {
	if v.Condemns() {
		return "❌ " + string(v)
	}
	return "⚠️ " + string(v)
}

// differencesCell names the first place in which two images differ.
func differencesCell(f orchestrator.Finding) string {
	if len(f.Differences) == 0 {
		return ""
	}
	text := prose(f.Differences[0].String())
	if more := f.Differing - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// pacesMarkdown tells which rebuilds took longer than they used to.
func pacesMarkdown(paces []orchestrator.Pace) string {
	late := slower(paces)
	if len(late) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("| slower than before | took | median | runs | more |\n|---|--:|--:|--:|--:|\n")
	for _, p := range late[:min(len(late), reportRows)] {
		fmt.Fprintf(&out, "| %s | %s | %s | %d | %s |\n", prose(string(p.ID)), seconds(p.Took), seconds(p.Median), p.Runs, percent(p))
	}
	return out.String() + "\n"
}
