package cluster

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"

	"github.com/rogpeppe/go-internal/diff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"toa.io/toa/cache"
)

// What happens to an object.
const (
	Added   = "added"
	Changed = "changed"
	Removed = "removed"
)

// Change is what a release does to one object.
type Change struct {
	Kind, Name string
	// Action is Added, Changed or Removed.
	Action string
	// Text is a unified diff of the object as YAML, its keys sorted. Values of
	// secrets are not in it.
	Text string
}

// Diff tells what a manifest would change in the release that stands, in the
// manifest's order, and then what it would remove. All is added where no release
// stands. It takes one request.
func (c *Cluster) Diff(ctx context.Context, manifest string) ([]Change, error) {
	record, err := c.deployed(ctx)
	if err != nil {
		return nil, err
	}
	if record == nil {
		return DiffManifests("", manifest)
	}
	return DiffManifests(record.Manifest, manifest)
}

// DiffManifests tells what changes from one manifest to another. Objects that
// say the same in other words are equal.
func DiffManifests(from, to string) ([]Change, error) {
	before, err := Objects(from)
	if err != nil {
		return nil, err
	}
	after, err := Objects(to)
	if err != nil {
		return nil, err
	}
	old := map[handle]*unstructured.Unstructured{}
	for _, object := range before {
		old[handleOf(object)] = object
	}
	var changes []Change
	for _, object := range after {
		changes, err = appendChange(changes, old[handleOf(object)], object)
		if err != nil {
			return nil, err
		}
		delete(old, handleOf(object))
	}
	for _, object := range before {
		if old[handleOf(object)] == nil {
			continue
		}
		changes, err = appendChange(changes, object, nil)
		if err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// appendChange appends what becomes of one object, if anything. Nil is one that
// is not there.
func appendChange(changes []Change, from, to *unstructured.Unstructured) ([]Change, error) {
	named, action := to, Changed
	switch {
	case from == nil:
		action = Added
	case to == nil:
		named, action = from, Removed
	}
	old, young, err := texts(from, to)
	if err != nil {
		return nil, fmt.Errorf("compare %s: %w", title(named), err)
	}
	text := diff.Diff("before", old, "after", young)
	if text == nil {
		return changes, nil
	}
	// The first line repeats the names of the next two.
	_, text, _ = bytes.Cut(text, []byte("\n"))
	return append(changes, Change{Kind: named.GetKind(), Name: named.GetName(), Action: action, Text: string(text)}), nil
}

// texts are both states of an object as people may see them.
func texts(from, to *unstructured.Unstructured) (old, young []byte, err error) {
	from, to = masked(from, nil), masked(to, from)
	if from != nil {
		if old, err = yaml.Marshal(legible(from).Object); err != nil {
			return nil, nil, err
		}
	}
	if to != nil {
		young, err = yaml.Marshal(legible(to).Object)
	}
	return old, young, err
}

// masked hides what a secret holds, but not where it differs from what it held
// before.
func masked(object, before *unstructured.Unstructured) *unstructured.Unstructured {
	if object == nil || object.GetKind() != "Secret" {
		return object
	}
	shown := object.DeepCopy()
	for _, field := range []string{"data", "stringData"} {
		values := nested(shown, field)
		for key, value := range values {
			values[key] = "(hidden)"
			if before != nil && fmt.Sprint(nested(before, field)[key]) != fmt.Sprint(value) {
				values[key] = "(hidden, another value)"
			}
		}
	}
	return shown
}

// nested is a map in an object, nil where there is none.
func nested(object *unstructured.Unstructured, field string) map[string]any {
	values, _ := object.Object[field].(map[string]any)
	return values
}

// legible replaces what nobody can read by what there is to say of it.
func legible(object *unstructured.Unstructured) *unstructured.Unstructured {
	if object.GetKind() != "ConfigMap" {
		return object
	}
	shown := object.DeepCopy()
	values := nested(shown, "binaryData")
	for key, value := range values {
		data, err := base64.StdEncoding.DecodeString(fmt.Sprint(value))
		if err == nil {
			values[key] = fmt.Sprintf("(%d bytes, %s)", len(data), cache.Digest(data))
		}
	}
	return shown
}
