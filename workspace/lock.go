package workspace

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/internal/lazyregexp"
)

const (
	lockVersion = "1"
	lockHeader  = "# Digests of base images. Written by toa; commit it, and move it with `toa lock update`.\n"
	maxLock     = 8 << 20
)

// AllPlatforms is the platform under which an image is pinned that is run as it
// was published: by the digest of its index.
const AllPlatforms = "all"

var digestPattern = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)

// Lock pins base images: reference and platform to digest. Its zero value pins
// nothing. It is not for several goroutines at once.
type Lock struct {
	bases map[string]map[string]string
}

// ParseLock reads what Encode wrote, or a person edited; empty data is an empty
// lock. What is wrong comes as *Errors.
func ParseLock(data []byte) (*Lock, error) {
	lock := &Lock{}
	if len(bytes.TrimSpace(data)) == 0 {
		return lock, nil
	}
	r := newReader(LockFile)
	if len(data) > maxLock {
		r.Fail(document.Place{Line: 1, Column: 1}, "", "%s", tooLarge(maxLock))
	} else if root := r.Parse(data); root != nil {
		r.lock(lock, root)
	}
	if len(r.Errors()) > 0 {
		failure := &Errors{List: r.Errors()}
		failure.Sort()
		return nil, failure
	}
	return lock, nil
}

func (r *reader) lock(lock *Lock, root *document.Value) {
	r.Object(root, document.Keys{
		"version": r.Text(new(string), document.OneOf(lockVersion)),
		"bases": r.Each(func(reference string) document.Want {
			return r.Each(func(platform string) document.Want {
				return r.pin(lock, reference, platform)
			})
		}),
	})
	r.Require(root, "version")
}

func (r *reader) pin(lock *Lock, reference, platform string) document.Want {
	var digest string
	text := r.Text(&digest, document.Matching(digestPattern, "sha256: and 64 hex digits"))
	return document.Want{Schema: text.Schema, Take: func(v *document.Value) {
		switch {
		case imageReference(reference) != "":
			r.Fail(r.Key(), "", "bases: expected %s as a key, found %s", imageReference(reference), document.Shown(reference))
		case platform != AllPlatforms && !platformName.MatchString(platform):
			r.Fail(r.Key(), "", "%s: expected os/arch, os/arch/variant or all as a key", r.Where())
		default:
			text.Take(v)
			lock.Set(reference, platform, digest)
		}
	}}
}

// Digest is what a reference is pinned to for a platform.
func (l *Lock) Digest(reference, platform string) (digest string, pinned bool) {
	digest, pinned = l.bases[reference][platform]
	return digest, pinned
}

// Set pins a reference for a platform.
func (l *Lock) Set(reference, platform, digest string) {
	if l.bases == nil {
		l.bases = map[string]map[string]string{}
	}
	if l.bases[reference] == nil {
		l.bases[reference] = map[string]string{}
	}
	l.bases[reference][platform] = digest
}

// References lists what is pinned, sorted.
func (l *Lock) References() []string { return slices.Sorted(maps.Keys(l.bases)) }

// Platforms lists the platforms for which a reference is pinned, sorted.
func (l *Lock) Platforms(reference string) []string {
	return slices.Sorted(maps.Keys(l.bases[reference]))
}

// Remove forgets a reference.
func (l *Lock) Remove(reference string) { delete(l.bases, reference) }

// Clone is a lock of its own that pins the same.
func (l *Lock) Clone() *Lock {
	clone := &Lock{}
	for reference, platforms := range l.bases {
		for platform, digest := range platforms {
			clone.Set(reference, platform, digest)
		}
	}
	return clone
}

// Encode writes the lock: equal locks are equal bytes.
func (l *Lock) Encode() []byte {
	var out strings.Builder
	out.WriteString(lockHeader)
	fmt.Fprintf(&out, "version: %s\n", lockVersion)
	if len(l.bases) == 0 {
		out.WriteString("bases: {}\n")
		return []byte(out.String())
	}
	out.WriteString("bases:\n")
	for _, reference := range l.References() {
		fmt.Fprintf(&out, "  %q:\n", reference)
		for _, platform := range l.Platforms(reference) {
			fmt.Fprintf(&out, "    %s: %s\n", platform, l.bases[reference][platform])
		}
	}
	return []byte(out.String())
}

// Move is a pin that differs between two locks. From is empty for a new one, To
// for one that is gone.
type Move struct{ Reference, Platform, From, To string }

// Moves lists what changes from l to next, by reference and platform.
func (l *Lock) Moves(next *Lock) []Move {
	var moves []Move
	for _, reference := range l.References() {
		for _, platform := range l.Platforms(reference) {
			from := l.bases[reference][platform]
			if to := next.bases[reference][platform]; to != from {
				moves = append(moves, Move{reference, platform, from, to})
			}
		}
	}
	for _, reference := range next.References() {
		for _, platform := range next.Platforms(reference) {
			if _, pinned := l.Digest(reference, platform); !pinned {
				moves = append(moves, Move{Reference: reference, Platform: platform, To: next.bases[reference][platform]})
			}
		}
	}
	slices.SortFunc(moves, func(a, b Move) int {
		return cmp.Or(strings.Compare(a.Reference, b.Reference), strings.Compare(a.Platform, b.Platform))
	})
	return moves
}
