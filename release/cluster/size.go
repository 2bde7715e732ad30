package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// maxRecord bounds what Helm keeps of a revision, in bytes. Kubernetes takes
// secrets of 1 MiB; what it leaves is for labels and for Helm's own notes.
const maxRecord = 900 << 10

// SizeError is a release that would not fit into its record.
type SizeError struct {
	// Size and Limit are bytes, as they are stored.
	Size, Limit int
	// Largest are the parts that take most, the largest first.
	Largest []Part
}

// Part is an object or a file of a chart.
type Part struct {
	Name string
	// Size is in bytes as they would be stored if the part were alone.
	Size int
}

func (e *SizeError) Error() string {
	parts := make([]string, len(e.Largest))
	for i, p := range e.Largest {
		parts[i] = fmt.Sprintf("%s (%d KiB)", p.Name, p.Size>>10)
	}
	return fmt.Sprintf("the record of the release would take %d KiB, expected at most %d KiB: most of it is %s", e.Size>>10, e.Limit>>10, strings.Join(parts, ", "))
}

// Hint says what helps.
func (e *SizeError) Hint() string {
	return "Kubernetes keeps no more in one secret: release the workspace as several contexts, or shorten what is largest"
}

// checkSize estimates the record of a release by making one.
func (r *Rendered) checkSize() error {
	record, err := writeRecord(r.release)
	if err != nil {
		return fmt.Errorf("estimate size of the release's record: %w", err)
	}
	if len(record) <= maxRecord {
		return nil
	}
	parts, err := r.parts()
	if err != nil {
		return fmt.Errorf("find what is large in the release: %w", err)
	}
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(b.Size, a.Size) })
	return &SizeError{Size: len(record), Limit: maxRecord, Largest: parts[:min(5, len(parts))]}
}

// parts are the objects of the manifest and the values, which the record holds
// beside each other, with their sizes.
func (r *Rendered) parts() ([]Part, error) {
	var parts []Part
	add := func(name string, content any) error {
		stored, err := writeRecord(content)
		parts = append(parts, Part{Name: name, Size: len(stored)})
		return err
	}
	for _, object := range r.Objects {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, err
		}
		if err := add(title(object), string(text)); err != nil {
			return nil, err
		}
	}
	return parts, add("values.yaml", r.release.Chart.Values)
}
