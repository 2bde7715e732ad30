package workspace

import (
	"slices"
	"strings"

	"toa.io/toa/document"
)

// reader reads one file of a workspace and notes what is to be said of it.
type reader struct {
	*document.Reader
	mentions []mention
}

// mention is a key that was read and is worth a notice.
type mention struct {
	text string // of the notice
	at   document.Place
}

func newReader(file string) *reader {
	r := document.NewReader(file)
	r.Unknown = unknownFix
	return &reader{Reader: r}
}

func unknownFix(key string, known []string) string {
	base, _, suffixed := cutEnvironment(key)
	switch {
	case strings.HasPrefix(key, "@"):
		return "the name of a package belongs under `annotations` of a context or `extensions` of a manifest"
	case suffixed && slices.Contains(known, base):
		return "a manifest has no overlays: state `" + base + "` without the environment, or put what differs into " + ContextFile
	}
	return document.Suggest(base, known)
}

// mention notes a key before its value is taken.
func (r *reader) mention(text string, want document.Want) document.Want {
	return document.Want{Schema: want.Schema, Take: func(v *document.Value) {
		r.mentions = append(r.mentions, mention{text: text, at: r.Key()})
		want.Take(v)
	}}
}
