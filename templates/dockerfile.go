package templates

import (
	"embed"
	"fmt"
	"strings"
	"text/template"
)

//go:embed dockerfiles
var dockerfiles embed.FS

// Source is the text of the template of a kind of image. It is part of the
// image's key, so a changed template moves every tag that it makes. An unknown
// kind has none.
func Source(kind string) string {
	text, err := dockerfiles.ReadFile("dockerfiles/" + kind)
	if err != nil {
		return ""
	}
	return string(text)
}

// Dockerfile renders a recipe. A value that would end its line or join it with
// the next, and so could add or swallow an instruction, is an error.
func Dockerfile(r Recipe) (string, error) {
	var bad error
	r.Fields(func(label, value string) {
		if strings.ContainsAny(label+value, "\n\r\x00") || strings.HasSuffix(strings.TrimRight(value, " \t"), `\`) {
			bad = fmt.Errorf("render Dockerfile: %s holds a line break, or ends in a backslash: %q", label, value)
		}
	})
	if bad != nil {
		return "", bad
	}
	text, err := template.New(r.Kind).
		Option("missingkey=error").
		Funcs(template.FuncMap{"quote": shellQuote}).
		Parse(Source(r.Kind))
	if err != nil {
		return "", fmt.Errorf("parse template: %w", err)
	}
	var out strings.Builder
	if err := text.Execute(&out, r); err != nil {
		return "", fmt.Errorf("render Dockerfile: %w", err)
	}
	return out.String(), nil
}

// shellQuote makes one word of a shell command line.
func shellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
