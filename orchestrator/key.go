package orchestrator

import (
	"encoding/hex"
	"fmt"

	"toa.io/toa/cache"
	"toa.io/toa/templates"
)

// stepKey is the key of everything that can change an image: the recipe, the
// text of the template that renders it, the files it copies, and the key of
// the dependencies image it stands on. Where and when it is built, by whom and
// with which engine are not part of it.
func stepKey(s Step) cache.Key {
	h := cache.NewHasher("toa/" + s.Recipe.Kind + "/v1")
	s.Recipe.Fields(h.Field)
	h.Field("template", templates.Source(s.Recipe.Kind))
	h.Key("dependencies", s.Dependencies)
	for _, source := range s.copied() {
		h.Field("source", source.Label)
		h.Field("version", source.Version)
		h.Key("tree", source.Tree.Key)
	}
	return h.Sum()
}

// copied are the sources whose files enter the image as they are. A
// dependencies image installs from its sources and copies none of them.
func (s Step) copied() []Source {
	if s.Recipe.Kind == KindDependencies {
		return nil
	}
	return s.Sources
}

// Inputs lists every input of the step's key, settings first, then files by
// label and path. Values of files are digests with their kind.
func Inputs(s Step) []cache.Input {
	var inputs []cache.Input
	s.Recipe.Fields(func(label, value string) {
		inputs = append(inputs, cache.Input{Label: label, Value: value})
	})
	template := cache.Digest([]byte(templates.Source(s.Recipe.Kind)))
	inputs = append(inputs, cache.Input{Label: "template", Value: template.String()})
	if !s.Dependencies.IsZero() {
		inputs = append(inputs, cache.Input{Label: "dependencies image", Value: DependenciesPrefix + s.Dependencies.Tag()})
	}
	for _, source := range s.copied() {
		if source.Version != "" {
			inputs = append(inputs, cache.Input{Label: "version of " + source.Component, Value: source.Version})
		}
		for _, file := range source.Tree.Files() {
			inputs = append(inputs, cache.Input{Label: fileLabel + source.Label + "/" + file.Path, Value: fileValue(file)})
		}
	}
	return inputs
}

// fileLabel begins the labels of files among inputs.
const fileLabel = "file "

func fileValue(f cache.File) string {
	switch {
	case f.Kind == cache.Symlink:
		return "link to " + f.Link
	case f.Exec:
		return "executable " + hex.EncodeToString(f.Digest[:])
	default:
		return fmt.Sprintf("file %x", f.Digest[:])
	}
}
