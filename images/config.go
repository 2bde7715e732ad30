package images

import (
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"toa.io/toa/templates"
)

// author is what history says of our layers. It is part of every image's bytes.
const author = "toa"

// configure makes an image's config: the base's, with what the recipe says and
// the layers on top. It states nothing of this machine or moment.
func configure(base v1.ConfigFile, recipe *templates.Recipe, platform v1.Platform, layers []layer) v1.ConfigFile {
	created := v1.Time{Time: epoch(recipe)}
	file := v1.ConfigFile{
		Architecture: platform.Architecture,
		OS:           platform.OS,
		Variant:      platform.Variant,
		OSVersion:    base.OSVersion,
		OSFeatures:   base.OSFeatures,
		Created:      created,
		Config:       base.Config,
		History:      baseHistory(base, created),
		RootFS:       v1.RootFS{Type: "layers", DiffIDs: append([]v1.Hash{}, base.RootFS.DiffIDs...)},
	}
	for _, layer := range layers {
		file.RootFS.DiffIDs = append(file.RootFS.DiffIDs, layer.diffID)
		file.History = append(file.History, v1.History{Author: author, Created: created, CreatedBy: layer.made})
	}
	file.Config.Image = "" // of the build that made the base
	file.Config.Env = mergeEnv(base.Config.Env, recipe.Env)
	if recipe.Workdir != "" {
		file.Config.WorkingDir = recipe.Workdir
	}
	if recipe.Cmd != "" {
		file.Config.Cmd = []string{"/bin/sh", "-c", recipe.Cmd}
	}
	return file
}

// baseHistory is the base's where it tells of each layer; readers match both.
func baseHistory(base v1.ConfigFile, created v1.Time) []v1.History {
	told := 0
	for _, h := range base.History {
		if !h.EmptyLayer {
			told++
		}
	}
	if told == len(base.RootFS.DiffIDs) {
		return slices.Clone(base.History)
	}
	history := make([]v1.History, len(base.RootFS.DiffIDs))
	for i := range history {
		history[i] = v1.History{Created: created, CreatedBy: "base image"}
	}
	return history
}

// mergeEnv replaces variables by name, in their place, and appends new ones.
func mergeEnv(base, own []string) []string {
	merged := slices.Clone(base)
	for _, line := range own {
		name, _, _ := strings.Cut(line, "=")
		at := slices.IndexFunc(merged, func(other string) bool { return strings.HasPrefix(other, name+"=") })
		if at < 0 {
			merged = append(merged, line)
		} else {
			merged[at] = line
		}
	}
	return merged
}
