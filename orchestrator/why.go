package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"toa.io/toa/cache"
)

// Change is one input that differs between two keys. Before or After is empty
// where the input is not there.
type Change struct{ Label, Before, After string }

// Compare lists the inputs that differ: in the order of after, then those that
// are gone.
func Compare(before, after []cache.Input) []Change {
	old := make(map[string]string, len(before))
	for _, input := range before {
		old[input.Label] = input.Value
	}
	var changes []Change
	for _, input := range after {
		value, was := old[input.Label]
		delete(old, input.Label)
		if !was || value != input.Value {
			changes = append(changes, Change{Label: input.Label, Before: value, After: input.Value})
		}
	}
	for _, input := range before {
		if _, gone := old[input.Label]; gone {
			changes = append(changes, Change{Label: input.Label, Before: input.Value})
		}
	}
	return changes
}

// String tells the change in a few words, files by name only.
func (c Change) String() string {
	label, isFile := strings.CutPrefix(c.Label, fileLabel)
	switch {
	case c.Before == "" && c.After == "":
		return label + " was added, empty"
	case c.Before == "" && isFile:
		return label + " was added"
	case c.After == "" && isFile:
		return label + " was removed"
	case isFile:
		return label + " " + fileChange(c.Before, c.After)
	case c.Before == "":
		return fmt.Sprintf("%s is now %q", label, c.After)
	case c.After == "":
		return fmt.Sprintf("%s is no longer %q", label, c.Before)
	default:
		return fmt.Sprintf("%s changed from %q to %q", label, c.Before, c.After)
	}
}

// fileChange tells what changed of a file that was and is there.
func fileChange(before, after string) string {
	oldKind, oldRest, _ := strings.Cut(before, " ")
	kind, rest, _ := strings.Cut(after, " ")
	switch {
	case oldKind == "link" && kind == "link":
		return "now leads " + rest
	case kind == "link" || oldKind == "link":
		return "is now a " + kind
	case oldRest == rest && kind == "executable":
		return "is now executable"
	case oldRest == rest:
		return "is no longer executable"
	default:
		return "changed"
	}
}

// shown is how many changes a reason names.
const shown = 2

// summarize tells changes in a line: files first, since an edit is what people
// look for.
func summarize(changes []Change) string {
	if len(changes) == 0 {
		return "what it is made of is the same, how keys are made is not"
	}
	ordered := slices.Clone(changes)
	slices.SortStableFunc(ordered, func(a, b Change) int { return rank(a) - rank(b) })
	var words []string
	for _, c := range ordered[:min(shown, len(ordered))] {
		words = append(words, c.String())
	}
	if more := len(ordered) - shown; more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return strings.Join(words, ", ")
}

func rank(c Change) int {
	if strings.HasPrefix(c.Label, fileLabel) {
		return 0
	}
	return 1
}
