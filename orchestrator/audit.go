package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/graph"
)

// Verdict is what an audit says of an image.
type Verdict string

// Verdicts, from good to bad.
const (
	// VerdictNew: nothing was published under the key, so there is nothing to compare.
	VerdictNew Verdict = "new"
	// VerdictSame: the rebuilt image is the published one.
	VerdictSame Verdict = "same"
	// VerdictNotReproducible: two rebuilds differ in all that differs from the
	// published image.
	VerdictNotReproducible Verdict = "not reproducible"
	// VerdictMissedInput: two rebuilds agree in something that the published image
	// has otherwise. What it is made of has changed, and the key did not move.
	VerdictMissedInput Verdict = "missed input"
	// VerdictWrongEntry: index and registry name different images for one key.
	VerdictWrongEntry Verdict = "wrong entry"
)

// Condemns tells whether an image with this verdict must not be relied upon.
func (v Verdict) Condemns() bool { return v == VerdictMissedInput || v == VerdictWrongEntry }

// keptDifferences is how many differences a finding lists.
const keptDifferences = 100

// Finding is what the audit of one image has found.
type Finding struct {
	ID        graph.ID
	Verdict   Verdict
	Reference Reference
	// Published, Rebuilt and Indexed are the digests that the registry has, that
	// was made, and that the index names; empty where there is none.
	Published, Rebuilt, Indexed string
	// Differences are the first of those between the published image and the
	// rebuilt one; Differing is how many there are.
	Differences []Difference
	Differing   int
}

// Text says what was found in a line, without the differences.
func (f Finding) Text() string {
	switch f.Verdict {
	case VerdictNew:
		return "nothing was published under its key"
	case VerdictSame:
		return "the rebuilt image is the published one"
	case VerdictNotReproducible:
		return "building it twice gives two images: published " + ShortDigest(f.Published) + ", rebuilt " + ShortDigest(f.Rebuilt)
	case VerdictMissedInput:
		return "something that its key does not cover has changed since it was published: published " + ShortDigest(f.Published) + ", rebuilt " + ShortDigest(f.Rebuilt)
	default:
		return "the index has " + ShortDigest(f.Indexed) + ", the registry " + ShortDigest(f.Published) + "; " + f.witness()
	}
}

// ShortDigest is enough of a digest to find it by.
func ShortDigest(digest string) string {
	const enough = len("sha256:") + 12
	return digest[:min(len(digest), enough)]
}

// witness says whose side the rebuilt image takes.
func (f Finding) witness() string {
	switch f.Rebuilt {
	case f.Published:
		return "the rebuilt image is the registry's, and the index was corrected"
	case f.Indexed:
		return "the rebuilt image is the index's: the tag was moved in the registry"
	default:
		return "the rebuilt image is neither, but " + ShortDigest(f.Rebuilt)
	}
}

// Difference is one place in which two images differ.
type Difference struct {
	// Platform is "os/arch[/variant]", empty for what all platforms share.
	Platform string
	// Part is "config", "manifest" or "layer N", counted from 1 with the base's.
	Part string
	// Path is the path of a file, the name of a field, or empty.
	Path string
	// What says in a few words how they differ: "content", "mode, time", "only published".
	What string
}

func (d Difference) String() string {
	return strings.Join(slices.DeleteFunc([]string{d.Platform, d.Part, d.Path}, func(s string) bool { return s == "" }), " ") + ": " + d.What
}

// where is what makes two differences ones of the same place.
func (d Difference) where() Difference {
	return Difference{Platform: d.Platform, Part: d.Part, Path: d.Path}
}

// Comparer tells images apart. Calls overlap.
type Comparer interface {
	// Published is the image of a digest that is published in the step's
	// repository. Only manifests and configs are read.
	Published(ctx context.Context, step Step, digest string) (Artifact, error)
	// Compare lists in what two images of a step differ, by platform, layer and
	// path. What is in What is said of the first one against the second.
	Compare(ctx context.Context, published, made Artifact) ([]Difference, error)
}

// audit compares what was built of a step with what is published under its key.
func (r *run) audit(ctx context.Context, s *Step, deps []Result, made Artifact) error {
	published, err := r.Registry.Has(ctx, Reference{Repository: s.Reference.Repository, Tag: s.Reference.Tag})
	if err != nil && !errors.Is(err, cache.ErrNotFound) {
		return err
	}
	f := Finding{ID: s.ID, Reference: s.Reference, Published: published, Rebuilt: made.Digest()}
	if entry, err := r.Index.Get(RegistryHost(r.plan.Registry), s.Reference.Repository, s.Key); err == nil {
		f.Indexed = entry.Digest
	}
	var differences []Difference
	if f.Verdict, differences, err = r.judge(ctx, s, deps, published, made); err != nil {
		return err
	}
	if f.Indexed != "" && published != "" && f.Indexed != published {
		f.Verdict = VerdictWrongEntry
	}
	f.Differing = len(differences)
	f.Differences = differences[:min(len(differences), keptDifferences)]
	r.ledger.found(f)
	return nil
}

// judge builds an image that differs from the published one once more. What
// differs between the two rebuilds as well is not reproducible; what they agree
// in is decided by something that no key covers.
func (r *run) judge(ctx context.Context, s *Step, deps []Result, published string, made Artifact) (Verdict, []Difference, error) {
	switch published {
	case "":
		return VerdictNew, nil, nil
	case made.Digest():
		return VerdictSame, nil, nil
	}
	stands, err := r.Audit.Published(ctx, *s, published)
	if err != nil {
		return "", nil, fmt.Errorf("read %s@%s: %w", s.Reference.Repository, published, err)
	}
	differences, err := r.Audit.Compare(ctx, stands, made)
	if err != nil {
		return "", nil, fmt.Errorf("compare with %s@%s: %w", s.Reference.Repository, published, err)
	}
	if err := nextSecond(ctx); err != nil {
		return "", nil, err
	}
	again, err := r.Builder.Build(ctx, *s, deps)
	if err != nil {
		return "", nil, fmt.Errorf("build once more: %w", err)
	}
	if again.Digest() == made.Digest() {
		return VerdictMissedInput, differences, nil
	}
	unsteady, err := r.Audit.Compare(ctx, made, again)
	if err != nil {
		return "", nil, fmt.Errorf("compare two rebuilds: %w", err)
	}
	if steady := without(differences, unsteady); len(steady) > 0 {
		return VerdictMissedInput, steady, nil
	}
	return VerdictNotReproducible, differences, nil
}

// nextSecond waits until clocks that count seconds have moved. Else two rebuilds
// that follow each other fast would agree in the time, as in an input.
func nextSecond(ctx context.Context) error {
	now := time.Now()
	timer := time.NewTimer(now.Truncate(time.Second).Add(time.Second).Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// without are the differences in places that others do not name.
func without(all, others []Difference) []Difference {
	named := make(map[Difference]bool, len(others))
	for _, d := range others {
		named[d.where()] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(d Difference) bool { return named[d.where()] })
}

// AuditError says that images are not what their keys say.
type AuditError struct{ Findings []Finding }

func (e *AuditError) Error() string {
	parts := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		parts[i] = fmt.Sprintf("%s: %s", f.ID, f.Verdict)
	}
	return "the audit condemns what is published: " + strings.Join(parts, "; ")
}

// Hint says where to begin.
func (e *AuditError) Hint() string {
	missed := func(f Finding) bool { return f.Verdict == VerdictMissedInput }
	if slices.ContainsFunc(e.Findings, missed) {
		return "find what the files that differ are made of, and state it as an input, so that the key moves with it; where nobody changed that, somebody has published over the tag"
	}
	return "find out who has moved the tag in the registry, and delete there what is wrong: the next build publishes it again"
}

// audited is the error of an audit that has condemned an image.
func (r *run) audited() error {
	var condemned []Finding
	for _, f := range r.ledger.findings() {
		if f.Verdict.Condemns() {
			condemned = append(condemned, f)
		}
	}
	if len(condemned) == 0 {
		return nil
	}
	return &AuditError{Findings: condemned}
}
