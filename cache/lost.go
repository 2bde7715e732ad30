package cache

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// lostBucket holds registry, repository, digest → nothing.
var lostBucket = []byte("lost/v1")

// Image is a row of the index: that Key is published as Entry.
type Image struct {
	Registry, Repository string
	Key                  Key
	Entry
}

// Images lists the whole rows, by registry, repository and key.
func (x *Index) Images() ([]Image, error) {
	var all []Image
	err := x.read(func(r rows) {
		all = nil
		r.whole(publishedBucket, "", func(name, payload []byte) {
			parts := strings.SplitN(string(name), "\x00", 3)
			entry, err := unpackEntry(payload)
			if err == nil && len(parts) == 3 && len(parts[2]) == len(Key{}) {
				all = append(all, Image{parts[0], parts[1], Key([]byte(parts[2])), entry})
			}
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", x.db.path, err)
	}
	slices.SortFunc(all, func(a, b Image) int {
		return cmp.Or(strings.Compare(a.Registry, b.Registry), strings.Compare(a.Repository, b.Repository), slices.Compare(a.Key[:], b.Key[:]))
	})
	return all, nil
}

// Lose notes what a repository does not give, whatever its registry says of it:
// blobs and manifests by digest. It is durable when Lose returns nil.
func (x *Index) Lose(registry, repository string, digests ...string) error {
	writes := make([]write, len(digests))
	for i, digest := range digests {
		name := rowName(registry, repository, digest)
		writes[i] = write{lostBucket, name, seal(name, nil)}
	}
	x.mu.Lock()
	x.lost = nil // it is read again
	x.mu.Unlock()
	return x.queue.write(x.db, writes...)
}

// Mended drops the note of what has been published anew.
func (x *Index) Mended(registry, repository, digest string) {
	name := rowName(registry, repository, digest)
	x.mu.Lock()
	of := x.lostIn(registry, repository)
	i := slices.Index(of, digest)
	if i >= 0 {
		x.lost[familyOf(name)] = slices.Delete(slices.Clone(of), i, i+1)
	}
	x.mu.Unlock()
	if i >= 0 {
		_ = x.queue.write(x.db, write{lostBucket, name, nil}) // else it is published once more
	}
}

// Lost is what was noted of a repository, and not mended since.
func (x *Index) Lost(registry, repository string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.lostIn(registry, repository)
}

// lostIn reads the notes of all repositories on the first question.
func (x *Index) lostIn(registry, repository string) []string {
	if x.lost == nil {
		_ = x.read(func(r rows) {
			x.lost = map[string][]string{}
			r.whole(lostBucket, "", func(name, _ []byte) {
				of := familyOf(name)
				x.lost[of] = append(x.lost[of], string(name[len(of):]))
			})
		})
	}
	return x.lost[string(rowName(registry, repository, ""))]
}
