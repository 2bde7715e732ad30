package cli

import (
	"context"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
)

// environmentTags moves tags, and remembers where to from run to run.
type environmentTags struct {
	*images.Remote
	files *cache.Files
}

func tagNote(ref orchestrator.Reference, tag string) string {
	return "tag " + ref.Repository + ":" + tag
}

// Tag implements orchestrator.Tagger.
func (t *environmentTags) Tag(ctx context.Context, ref orchestrator.Reference, tag string) error {
	err := t.Remote.Tag(ctx, ref, tag)
	if err == nil {
		t.files.SetNote(tagNote(ref, tag), []byte(ref.Digest))
	}
	return err
}

// Tagged implements orchestrator.Tagger.
func (t *environmentTags) Tagged(ref orchestrator.Reference, tag string) bool {
	return string(t.files.Note(tagNote(ref, tag))) == ref.Digest
}
