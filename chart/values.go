package chart

import (
	"fmt"
	"regexp"

	"toa.io/toa/graph"
	"toa.io/toa/workspace"
)

// pinned is a reference with a tag and a digest.
var pinned = regexp.MustCompile(`^[^\s@]+:[\w][\w.-]*@sha256:[0-9a-f]{64}$`)

// UnpinnedError is a composition without a reference that ends in a digest.
type UnpinnedError struct {
	ID graph.ID
	// Reference is what there is, or empty.
	Reference string
}

func (e *UnpinnedError) Error() string {
	if e.Reference == "" {
		return fmt.Sprintf("%s has no published image", e.ID)
	}
	return fmt.Sprintf("image %s of %s is not pinned by a digest", e.Reference, e.ID)
}

// values is values.yaml.
func values(in Input) (mapping, error) {
	compositions, err := compositions(in)
	if err != nil {
		return nil, err
	}
	components, err := componentMap(in.Workspace, in.Versions)
	if err != nil {
		return nil, fmt.Errorf("make component map: %w", err)
	}
	m := mapping{
		{"compositions", compositions},
		{"components", labels(in.Workspace.Compositions)},
	}
	if credentials := in.Workspace.Context.Registry.Credentials; credentials != "" {
		m = append(m, entry{"credentials", credentials})
	}
	return append(m, entry{"map", components}), nil
}

func compositions(in Input) (list, error) {
	var all list
	for _, c := range in.Workspace.Compositions {
		id := graph.NewID("composition", c.Slug)
		reference := in.References[id]
		if !pinned.MatchString(reference) {
			return nil, &UnpinnedError{ID: id, Reference: reference}
		}
		all = append(all, mapping{
			{"name", c.Slug},
			{"image", reference},
			{"components", labels([]*workspace.Composition{c})},
			{"replicas", c.Replicas},
			{"variables", variables(in.Workspace)},
		})
	}
	return all, nil
}

// labels are those of all members in the order of the compositions, each once:
// a component of two compositions has one Service.
func labels(compositions []*workspace.Composition) list {
	var all list
	seen := map[string]bool{}
	for _, composition := range compositions {
		for _, c := range composition.Components {
			if !seen[c.Label] {
				seen[c.Label] = true
				all = append(all, c.Label)
			}
		}
	}
	return all
}

// variables are those that every process gets.
func variables(ws *workspace.Workspace) list {
	return list{
		mapping{{"name", "TOA_CONTEXT"}, {"value", ws.Context.Name}},
		mapping{{"name", "TOA_ENV"}, {"value", ws.Environment}},
	}
}
